#pragma once
// What a run's metrics.jsonl (run_files.h) says by epoch: seconds, losses, and the predictor's
// error by layer.

#include <cstdint>
#include <optional>
#include <vector>

#include "adagp/base/core/files.h"

namespace adagp::report {

// A layer's probe: h is the predicted gradient, g the true one.
struct LayerProbe {
  double cosine = 0;
  double mse = 0;             // mean (h - g)^2
  double mape = 0;            // mean |h - g| / |g| in percent
  double relative_error = 0;  // |h - g| / |g|: its square is the MSE over mean(g^2)
};

struct EpochHistory {
  int64_t epoch = 0;
  double seconds = 0;  // of training, of this epoch alone
  double train_loss = 0, test_loss = 0;
  std::optional<double> predictor_loss;  // with that probe
  std::vector<LayerProbe> layers;        // the last probe of the epoch; empty: none
};

// Epochs that are complete, in their order; what is missing is NaN. Throws DataError for a line
// that is no record.
std::vector<EpochHistory> read_history(const core::fs::path& metrics);

}  // namespace adagp::report
