#pragma once
// What a run would do and cost, without training.

#include <string>

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"

namespace adagp::experiment {

struct DryRun {
  std::string model, method, schedule, device;
  int64_t parameters = 0, predictor_parameters = 0;
  int64_t batches_per_epoch = 0, bp_batches = 0, gp_batches = 0;
  int64_t batch = 0;        // examples of a usual batch
  double weight_bytes = 0;  // parameters, gradients, optimizer and predictor state
  double activation_bytes =
      0;  // of a BP batch, outputs of weight layers counted twice (norm, ReLU)
  double bp_seconds = 0, gp_seconds = 0, total_seconds = 0;  // from a few measured steps

  std::string text() const;
  nlohmann::json to_json() const;
};

DryRun dry_run(config::RunConfig config);

}  // namespace adagp::experiment
