#pragma once
// What a finished run amounts to: summary.json. No torch here.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"
#include "adagp/base/plan/batch_work.h"
#include "adagp/results/report/conditions.h"

namespace adagp::report {

struct Summary {
  std::string method, model, data, device, precision;
  int64_t seed = 0, epochs = 0, batch = 0;
  std::string task, metric;               // "classification", "top1"
  report::Conditions conditions;          // what the score is of
  double loss = 0;                        // of the last evaluation
  std::map<std::string, double> figures;  // of it: "top1", "top5" in percent, "bleu", "map50"
  double best = 0;                        // of the metric over all evaluations
  double train_seconds = 0;               // batches alone: without evaluation and checkpoints
  double eval_seconds = 0;
  double trace_seconds = 0;  // of writing traces; part of neither
  int64_t bp_batches = 0, gp_batches = 0;
  plan::BatchCounts batches;          // what they were; empty or too few: not known of all
  std::optional<double> cost_epochs;  // counted by multiplications, in epochs of plain backprop
  std::optional<double> cosine, q;    // means over probes
  std::optional<double> bias;         // cosine of the mean gradients over all probes

  double score() const { return figures.at(metric); }
  double gp_share() const;
  nlohmann::json to_json() const;
  static Summary read(const core::fs::path& file);  // throws DataError
};

// Where a run folder has the table of all operations for images of this side (0: as the data is).
std::string operations_name(int64_t image_side);

// One line for people.
std::string one_line(const Summary& summary);

}  // namespace adagp::report
