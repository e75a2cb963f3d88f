#pragma once
// What a finished run amounts to: summary.json. No torch here.

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "adagp/core/files.h"

namespace adagp::train {

struct Summary {
  std::string method, model, data, device, precision;
  int64_t seed = 0, epochs = 0, batch = 0;
  double top1 = 0, top5 = 0, loss = 0;  // of the last epoch's evaluation, in percent
  double best_top1 = 0;
  double train_seconds = 0;  // batches alone: without evaluation and checkpoints
  double eval_seconds = 0;
  int64_t bp_batches = 0, gp_batches = 0;
  std::optional<double> cosine, q;  // means over probes

  double gp_share() const;
  nlohmann::json to_json() const;
  static Summary read(const core::fs::path& file);  // throws DataError
};

// One line for people.
std::string one_line(const Summary& summary);

}  // namespace adagp::train
