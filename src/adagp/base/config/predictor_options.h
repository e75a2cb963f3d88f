#pragma once
// Options and sizes of the gradient predictors. No torch here: the accelerator simulator counts the
// predictor's work from the same numbers.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/core/parts.h"

namespace adagp::predictor {

struct Config {
  std::string kind = "shared";          // a name of registry()
  int64_t summary = 8;                  // side of the pooled activation the predictor sees
  std::string target = "rms";           // rms: gradient / running RMS of its layer; raw
  double lr = 1e-4;                     // Adam
  std::vector<std::string> milestones;  // durations after which the rate is multiplied by gamma
  double gamma = 0.1;

  // shared: conv 3x3 1 -> channels, pool to pooled x pooled, FC to the widest layer.
  int64_t channels = 16;
  int64_t pooled = 4;
  // What the paper says otherwise (Figs. 5b and 6) than we decided.
  std::string steps = "joint";      // its optimizer's steps in a BP batch: joint | per-layer
  std::string order = "conv-pool";  // conv-pool | pool-conv

  // What it is shown of a batch; all but activations are ablations.
  std::string input = "activations";  // activations | zeros | noise | labels

  // remap (the term project's, which the simulator knows, too): max-pool to kRemapSide, four
  // convolutions of `remap_channels` with norms, FC to `remap_outputs`, mean over the rows.
  int64_t remap_channels = 64;
  int64_t remap_outputs = 10000;
  std::string tail = "last";  // what fills the remainder of a long gradient: last | cyclic

  core::Parts parts;  // of other libraries
};

inline constexpr int64_t kRemapSide = 4;  // of remap's maps

// Side of what the predictor sees of a layer's output.
inline int64_t summary_side(const Config& config) {
  return config.kind == "remap" ? kRemapSide : config.summary;
}

// Inputs of the shared predictor's fully connected layer.
inline int64_t feature_count(const Config& config) {
  return config.channels * config.pooled * config.pooled;
}
// Side of the map on which the shared predictor's convolution works.
inline int64_t convolved_side(const Config& config) {
  return config.order == "pool-conv" ? config.pooled : config.summary;
}

}  // namespace adagp::predictor
