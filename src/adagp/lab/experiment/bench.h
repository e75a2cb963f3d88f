#pragma once
// Step times against what the method could reach.

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/lab/experiment/step_times.h"

namespace adagp::experiment {

struct BenchResult {
  StepTimes times;
  std::string method;         // whose full batch is times.method
  std::string device;         // as a user would say it
  double gp_share = 0;        // f of the schedule
  double speedup = 0;         // of the whole schedule, from the measured steps
  double ceiling = 0;         // the same with a free predictor: GP = forward, BP + predictor = BP
  double predictor_macs = 0;  // of a GP step, relative to the forward pass
  // What a GP step adds on a GPU if memory is the only limit: the activations read once more,
  // weights and momentum once in and once out. Less where the summary rides on a norm's statistics,
  // which read the activation anyway. 0 where the bandwidth is not known.
  double roofline = 0;

  double gp_over_forward() const { return times.gp.median / times.forward.median; }
  double train_over_bp() const { return times.bp_train.median / times.bp.median; }
  std::string text() const;
  nlohmann::json to_json() const;
};

// Peak resident bytes of a process that takes one step of this kind ("forward", "gp" or "bp").
// Throws Error when they cannot be measured.
using PeakMeter = std::function<double(const std::string& kind)>;

// `input`: "cifar" (also when empty), "imagenet" or "HxW", random images; for a translator
// "tokens:SRC,TGT", random words (when empty: as many as synthetic-translation's average sentences
// have). Classes from model.classes (0 = 10 or 1000). Throws UsageError for an input that the
// network does not take. With `only`, one kind of step alone; the ratios are then undefined.
// `host_peak` is for a CPU; where it fails or is empty, the peak is left out.
BenchResult bench(config::RunConfig config, const std::string& input, int repeats,
                  const std::string& only = "", const PeakMeter& host_peak = {});

}  // namespace adagp::experiment
