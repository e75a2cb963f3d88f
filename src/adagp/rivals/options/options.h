#pragma once
// Options of the rivals: methods of other papers and experiments of ours. Each struct is a part of
// RunConfig or of predictor::Config (core/parts.h). Torch-free.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/config/predictor_options.h"

namespace adagp::rivals {

// precision = fast: products in block floating point.
struct FastOptions {
  std::string rule = "adaptive";
  int64_t mantissa = 4;
  double alpha = 0.6, beta = 0.3;
  std::string every = "100ba";
  std::string rounding = "stochastic";
  int64_t exponent_bits = 8;
  bool regroup = true;
};

// Embedded DRAM that forgets: what is kept for the backward pass has bit errors.
struct EdramOptions {
  double error = 0;  // share of the values
};

// Parts of the network that learn from signals of their own.
struct ModulesOptions {
  int64_t count = 2;
  // auxiliary | delayed | replay | critic | synthetic | feedback
  std::string signal = "delayed";
  std::string match = "both";  // value | gradient | both
  bool unlocked = false;
  double shrink = 1;
};

struct NoiseOptions {
  double eta = 0.01;
};

struct XGradOptions {
  double factor = 1;
};

// Weights that fall back to their first values.
struct DropBackOptions {
  double keep = 0.1;
  double init_decay = 0.9;
  std::string threshold = "exact";  // exact | estimate
  std::string freeze = "0ep";       // 0ep = never
};

// What copies that share batches send each other instead of gradients.
struct CompressOptions {
  std::string kind = "none";  // none | top-k | power-sgd | sign
  double share = 0.01;
  int64_t rank = 2;
};

struct ControlVariateOptions {
  double share = 0.25;
};

struct SelectiveOptions {
  double share = 0.5;
  std::string rule = "top";  // top | priority
};

struct PartialOptions {
  int64_t blocks = 1;
};

struct AutoOptions {
  std::vector<std::string> steps{"low-res", "selective", "partial", "small-batch", "adagp", "skip"};
  int64_t heldout = 1024;
  int64_t window = 40;
  int64_t pairs = 4;
  int64_t most = 4;
  double confidence = 0.95;
  double probe_share = 0.08;
  std::string clock = "measured";
};

// Of predictor::Config.
struct PredictorOptions {
  int64_t mlp_hidden = 256;  // mlp: width of its hidden layer
  // dfa, dfa-random, vt, head-ridge: what is left of the past after a BP batch, and the ridge of
  // the fit, relative to the size of each feature.
  double forget = 0.95;
  double ridge = 0.01;
  int64_t head_features = 32;  // head-ridge: numbers the head's gradient is reduced to
  // dni: hidden width of each layer's network, and whether it is told the label.
  int64_t dni_hidden = 32;
  bool dni_label = true;
  std::string remap_target = "raw";  // remap: as `target`, which is not the project's
};

inline const PredictorOptions& options_of(const predictor::Config& config) {
  return config.parts.get<PredictorOptions>();
}

// Adds the keys of all these to the table of bind() in config/run_config.h. Before the first use of
// it; a second call does nothing.
void add_keys();

}  // namespace adagp::rivals
