#pragma once
// The shared predictor for all layers at once: features, FC with the optimizer in its epilogue, and
// its training. The predicted gradient never goes to memory.
//
// The sizes are those of the paper's predictor, fixed so that they fit the tensor cores' tiles:
// summary 8x8, convolution 3x3 with 16 channels, pooled to 4x4, hence 256 features per filter.

#include "adagp/gpu/cuda/optim/optim.h"
#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

constexpr int kSummary = 8, kChannels = 16, kPooled = 4;
constexpr int kMostTrained = 256;                         // layers that predictor_train takes
constexpr int kFeatures = kChannels * kPooled * kPooled;  // index: channel*16 + pooled pixel

// One weight layer: its filters are rows first_row .. first_row + rows of the summaries, each
// filter has `cols` weights.
struct PredictedLayer {
  int64_t first_row = 0, rows = 0, cols = 0;
  ParamSlot slot;  // weight, state, low, gradient (bf16 or float; training), decay
};

// Device memory of the net. Masters are float; the bf16 copies are what the tensor cores read.
struct PredictorNet {
  float *conv_weight = nullptr, *conv_bias = nullptr;  // [16, 9], [16]
  float *fc_weight = nullptr, *fc_bias = nullptr;      // [widest, 256], [widest]
  void* fc_low = nullptr;                              // bf16 [widest, 256]
  int64_t widest = 0;
  float* mean_square = nullptr;  // [layers], running; scale = sqrt(mean_square + 1e-30)
  float* scale = nullptr;        // [layers]; all 1 when the target is raw
};

// features = pool(relu(conv(summary))), one row per filter.
struct FeaturesArgs {
  const float* summaries = nullptr;  // [rows, 64]
  int64_t rows = 0;
  const PredictorNet* net = nullptr;
  void* features = nullptr;  // out bf16 [rows, 256]
  // The launch before on this stream is that of pool_cells(): this one may begin while it ends.
  bool behind_pool = false;
};
void predictor_features(const FeaturesArgs& args, Stream stream);

// For every layer of the list: gradient = scale[id] * (features . fc^T + bias), and one step of the
// optimizer with it (`gradient` of the slot is not used).
struct PredictArgs {
  const PredictedLayer* layers = nullptr;  // host memory, read during the call
  const int* ids = nullptr;                // host: place of each in net.scale
  int64_t count = 0;
  const PredictorNet* net = nullptr;
  const void* features = nullptr;
  UpdateRule rule;
  // The launch before on this stream is predictor_features(): then all but the features may be read
  // before that one is done.
  bool behind_features = false;
  bool beside = false;  // shares the device with other work
};
void predict_update(const PredictArgs& args, Stream stream);

// One training step on the true gradients of all layers (layer l has id l):
//   mean_square <- decay * mean_square + (1 - decay) * mean(g^2), or mean(g^2) where !seen
//   error  = (features . fc^T + bias) - g / scale         (rounded to bf16 for the products below)
//   loss   = mean over layers of mean(error^2)
//   Adam on fc and conv with the gradient of loss.
struct TrainArgs {
  const PredictedLayer* layers = nullptr;
  int64_t count = 0;
  PredictorNet net;
  ParamSlot conv_weight, conv_bias, fc_weight, fc_bias;  // state of Adam; gradient unused
  UpdateRule rule;                                       // kAdam
  const float* summaries = nullptr;                      // [rows, 64]
  const void* features = nullptr;                        // bf16 [rows, 256], of the same summaries
  int64_t rows = 0;
  float rms_decay = 0.95F;
  bool normalise = true;         // false: target raw, scale stays
  uint8_t* seen = nullptr;       // device [1]: 0 before the first step; set to 1 by the step
  float* loss = nullptr;         // out [1]
  void* workspace = nullptr;     // train_workspace() bytes, zeroed once
  bool behind_features = false;  // as in PredictArgs
  int64_t block_memory = 0;      // of the device (types.h); small stages where it is 0
};
int64_t train_workspace(const PredictedLayer* layers, int64_t count, int64_t widest);
void predictor_train(const TrainArgs& args, Stream stream);

namespace reference {
void predictor_features(const FeaturesArgs& args);
void predict_update(const PredictArgs& args);
void predictor_train(const TrainArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
