#pragma once
// How long a run is, where it is, and what it has done so far.

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace adagp::train {

struct BatchPosition {
  int64_t epoch = 0, batch = 0;

  std::string text() const;  // "epoch 1 batch 3", counted from 1 as in the progress lines
  bool operator==(const BatchPosition&) const = default;
};

// The length of a run in batches.
struct RunSize {
  int64_t per_epoch = 0;  // batches of an epoch with all examples
  int64_t total = 0;      // batches of the run if every epoch has per_epoch of them
  int64_t examples = 0;   // of a batch
};

// What a checkpoint holds beside tensors.
struct RunTotals {
  BatchPosition next;  // of the batch that comes next
  int64_t step = 0;    // batches so far
  int64_t bp_batches = 0, gp_batches = 0;
  double macs = 0;  // of all batches so far
  double train_seconds = 0, eval_seconds = 0;
  double stopped_seconds = 0;  // left out of both: the process stood still
  double test_loss = 0, best_score = -1;
  std::map<std::string, double> figures;  // of the latest evaluation

  double gp_share() const { return static_cast<double>(gp_batches) / static_cast<double>(step); }
  // All but the step.
  nlohmann::json to_json() const;
  // Throws nlohmann::json::exception for what is missing.
  void read(const nlohmann::json& json);
};

}  // namespace adagp::train
