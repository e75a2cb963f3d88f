#pragma once
// Step times against what the method could reach.

#include <string>

#include <nlohmann/json.hpp>

#include "adagp/train/config.h"
#include "adagp/train/step_times.h"

namespace adagp::train {

struct BenchResult {
  StepTimes times;
  double gp_share = 0;        // of the schedule
  double speedup = 0;         // of the whole schedule, from the measured steps
  double ceiling = 0;         // the same with a free predictor: GP = forward, BP + predictor = BP
  double peak_bytes = 0;      // of the whole process, host memory
  double predictor_macs = 0;  // of a GP step, relative to the forward pass

  std::string text() const;
  nlohmann::json to_json() const;
};

// `input`: "cifar", "imagenet" or "HxW", random images; classes from model.classes (0 = 10 or
// 1000).
// With `only`, one kind of step alone; the ratios are then undefined and the peak memory is its
// own.
BenchResult bench(Config config, const std::string& input, int repeats,
                  const std::string& only = "");

}  // namespace adagp::train
