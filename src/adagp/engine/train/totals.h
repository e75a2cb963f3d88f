#pragma once
// How long a run is, where it is, and what it has done so far.

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "adagp/base/plan/batch_work.h"

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

// Parts of the seconds of training; the rest is planning and bookkeeping. NaN: not known. A GPU
// works while the host goes on, so that the parts could be told only by waiting for it after each
// batch.
struct PartSeconds {
  double data = 0;              // waiting for batches, with their way to the device
  double exact = 0, cheap = 0;  // BP and GP batches

  static PartSeconds unknown() { return {std::nan(""), std::nan(""), std::nan("")}; }
  bool known() const { return std::isfinite(data + exact + cheap); }
};

// What a checkpoint holds beside tensors.
struct RunTotals {
  BatchPosition next;  // of the batch that comes next
  int64_t step = 0;    // batches so far
  int64_t bp_batches = 0, gp_batches = 0;
  plan::BatchCounts batches;  // what they were; nothing where a part of them was not counted
  double macs = 0;            // of all batches so far
  double examples = 0;        // that steps have seen; NaN: not counted
  double train_seconds = 0, eval_seconds = 0, trace_seconds = 0;
  PartSeconds parts;  // of train_seconds
  double test_loss = 0, best_score = -1;
  std::map<std::string, double> figures;  // of the latest evaluation

  double gp_share() const { return static_cast<double>(gp_batches) / static_cast<double>(step); }
  // All but the step.
  nlohmann::json to_json() const;
  // Throws nlohmann::json::exception for what is missing.
  void read(const nlohmann::json& json);
};

}  // namespace adagp::train
