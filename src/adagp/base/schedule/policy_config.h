#pragma once
// Options of the learning-rate policies.

#include <cstdint>
#include <string>
#include <vector>

namespace adagp::schedule {

struct PolicyConfig {
  // constant | step | multi-step | cosine | one-cycle | triangle | inverse-sqrt | plateau
  std::string name = "triangle";
  double peak = 0.15;          // triangle: share of the steps going up; one-cycle: pct_start
  std::string every = "30ep";  // step: length of a stair
  double gamma = 0.1;          // step, multi-step: factor
  std::vector<std::string> milestones{};  // multi-step: durations
  double floor = 0.0;                     // cosine: final rate (eta_min)
  double div = 25.0;                      // one-cycle: initial = lr / div
  // inverse-sqrt: its length; constant, step, multi-step, cosine: linear warm-up
  std::string warmup = "0ba";
  // plateau, PyTorch's defaults
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;     // relative
  std::string watch = "test";  // plateau: whose loss: test | train | held-out
};

// Whether a part of the training examples is there to be watched and not to be trained on.
inline bool watches_held_out(const PolicyConfig& config) {
  return config.name == "plateau" && config.watch == "held-out";
}

}  // namespace adagp::schedule
