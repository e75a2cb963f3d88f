#pragma once
// Batch normalisation in training and the summary of its input, in as few passes over the
// activation as there can be: one read for the statistics and the summary together, one read and
// one write for normalise + add + ReLU + pool.

#include <limits>

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

// Any number of channels works. At full speed run multiples of 8 whose arrays, parameters included,
// begin at addresses divisible by 16; all others are read element by element.

// What a norm reads and writes of its channels' statistics.
struct NormPart {
  const float* weight = nullptr;
  const float* bias = nullptr;
  const float* conv_bias = nullptr;  // [C] or null: would have been added to x
  float* running_mean = nullptr;     // moved, as of x + conv_bias; var unbiased, as PyTorch's (of
                                     // one value: NaN)
  float* running_var = nullptr;
  int64_t* batches = nullptr;  // += 1
  float momentum = 0.1F, eps = 1e-5F;
  float* mean = nullptr;     // out [C], of x itself
  float* inv_std = nullptr;  // out [C]
  float* scale = nullptr;    // out [C]: normalised y = scale * x + shift
  float* shift = nullptr;    // out [C]
};

// Statistics over batch and pixels, and the layer's summary, from one read of x. The sums are added
// in a fixed order: the same input gives the same bits.
struct StatsArgs : NormPart {  // weight == null: no norm is asked for
  const void* x = nullptr;     // the convolution's output without its bias
  Type type = Type::kFloat;
  Map map;
  int64_t pitch = 0;  // elements from a position of x to the next one; 0: map.channels

  // Instead of a norm: x is appended to a wider map, with statistics for norms that come later
  // (norm_moments). Both are given with `mean`, or neither.
  void* copy = nullptr;       // out: where x goes, not over x itself
  int64_t copy_pitch = 0;     // like pitch
  float* variance = nullptr;  // out [C], biased

  // The summary's part; summary == null: none. Row c: batch mean of (x + conv_bias)[c], average-
  // pooled to size x size like torch's adaptive_avg_pool2d (smaller maps: pixels are repeated).
  float* summary = nullptr;  // out [C, size*size]
  int size = 8;              // at most 16
  // Or the sums of (x + conv_bias) by cell, for pool_cells() to make the summaries of all layers at
  // once: cheaper than each for itself. A cell is a piece of the map that no window's edge crosses.
  float* cells = nullptr;  // out [summary_cells(), C]
  int use = 1;  // n: the n-th use of the layer in this step, summary becomes the mean of n uses

  // Scratch of stats_workspace() bytes at an address divisible by 16, zeroed once before its first
  // use; may be shared by all launches on one stream, those of norm_backward included.
  void* workspace = nullptr;
};
// For any StatsArgs whose map has at most this many channels, pixels (height*width) and batch.
int64_t stats_workspace(const Map& largest, int size);
int64_t summary_cells(const Map& map, int size);
void norm_stats(const StatsArgs& args, Stream stream);

// A norm's part from statistics that were taken before, for all norms that read the same channels.
// `mean` is written, too: a norm's own moments are what its backward pass keeps.
struct MomentsArgs : NormPart {
  int64_t channels = 0, positions = 0;    // positions: of the map, n of the unbiased variance
  const float* known_mean = nullptr;      // [C], norm_stats' mean
  const float* known_variance = nullptr;  // [C], norm_stats' variance
};
void norm_moments(const MomentsArgs& args, Stream stream);

// Summaries from the cells that norm_stats left, for any number of layers in one launch.
struct PoolArgs {
  const float* cells = nullptr;  // [summary_cells(), C]
  Map map;
  float* summary = nullptr;  // out [C, size*size]
};
void pool_cells(const PoolArgs* layers, int64_t count, int size, Stream stream);

// Of `cap`: ReLU has no upper end. No number is above NaN.
constexpr float kNoCap = std::numeric_limits<float>::quiet_NaN();

// y = pool(relu(scale * x + shift + residual)). In evaluation scale and shift come from the running
// statistics (eval_scale).
struct ApplyArgs {
  const void* x = nullptr;
  Type type = Type::kFloat;
  Map map;            // of x
  int64_t pitch = 0;  // as in StatsArgs; of x alone; not with pool
  const float* scale = nullptr;
  const float* shift = nullptr;
  const void* residual = nullptr;  // like x, or null
  bool relu = false;
  float cap = kNoCap;   // with relu: no output is above it; 6 for ReLU6
  bool pool = false;    // 2x2 max, stride 2; height and width must be even; not with a residual
  void* y = nullptr;    // may be x itself when pool is off and both are dense
  int64_t y_pitch = 0;  // as in StatsArgs; not with pool
};
void norm_apply(const ApplyArgs& args, Stream stream);

// scale and shift of evaluation: of x without conv_bias.
struct EvalScaleArgs {
  int64_t channels = 0;
  const float *weight = nullptr, *bias = nullptr, *conv_bias = nullptr;
  const float *running_mean = nullptr, *running_var = nullptr;
  float eps = 1e-5F;
  float *scale = nullptr, *shift = nullptr;
};
void eval_scale(const EvalScaleArgs& args, Stream stream);

// The gradient of norm_apply after norm_stats. dz = d loss / d (scale*x + shift + residual).
struct NormBackwardArgs {
  const void* x = nullptr;
  const void* dy = nullptr;  // of y: pooled size with pool
  const void* y = nullptr;   // the output; needed with a residual and relu, else null: it is redone
  Type type = Type::kFloat;
  Map map;               // of x
  int64_t pitch = 0;     // as in StatsArgs; of x alone; not with pool
  int64_t dy_pitch = 0;  // as in StatsArgs; not with pool
  bool relu = false, pool = false;
  float cap = kNoCap;  // as in ApplyArgs; outputs that it cut off have no gradient
  const float *mean = nullptr, *inv_std = nullptr, *scale = nullptr, *shift = nullptr;
  float* dweight = nullptr;  // out [C]
  float* dbias = nullptr;    // out [C]
  // Out like x: gradient of the residual; null without one. May be dy itself where that is dense.
  void* dz = nullptr;
  // Out, dense; may be dy itself when pool is off and dy is dense.
  void* dx = nullptr;
  // Added to dx: the gradient of x by another way; null: nothing. Neither with pool nor with dz.
  const void* plus = nullptr;
  int64_t plus_pitch = 0;     // as in StatsArgs
  void* workspace = nullptr;  // backward_workspace() bytes, as norm_stats' and may be the same
};
int64_t backward_workspace(const Map& largest);
void norm_backward(const NormBackwardArgs& args, Stream stream);

namespace reference {
void norm_stats(const StatsArgs& args);
void norm_moments(const MomentsArgs& args);
void pool_cells(const PoolArgs* layers, int64_t count, int size);
void norm_apply(const ApplyArgs& args);
void eval_scale(const EvalScaleArgs& args);
void norm_backward(const NormBackwardArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
