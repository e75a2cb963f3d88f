#pragma once
// Methods at several lengths against plain backprop at several lengths and batch sizes: what a
// method is worth at equal cost and at equal time.

#include <string>
#include <utility>
#include <vector>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/files.h"
#include "adagp/lab/experiment/run_list.h"
#include "adagp/results/report/budget.h"

namespace adagp::experiment {

struct BudgetOptions {
  // "progressive", "progressive@20/24" with epochs of its own,
  // "stored-loss[stored_loss.power=0.5; batch=512]@22" with other keys.
  std::vector<std::string> methods;
  std::vector<int64_t> epochs{10, 15, 20, 30};  // of bp, and of methods that name none
  std::vector<int64_t> batches{128, 256, 512};  // of bp, beside the configuration's
  int64_t seeds = 3;                            // the configuration's seed and those after it
  int64_t control_seeds = 0;                    // of bp at other batch sizes; 0 = as many
  // Epochs of bp whose score is to be reached; empty: 15 and 30 where bp has them, else its
  // longest.
  std::vector<int64_t> targets;
  core::fs::path folder = "runs/budget";
  bool overwrite = false;
  Sharing sharing{};
};

// Runs of one method with its keys, at one or more lengths.
struct BudgetSpec {
  std::string label;  // "stored-loss[stored_loss.power=0.5]"
  std::string method;
  std::vector<std::string> sets;  // "key=value"
  std::vector<int64_t> epochs;
};
// Throws UsageError saying what is wrong with the text.
BudgetSpec parse_budget_spec(const std::string& text, const std::vector<int64_t>& epochs);

struct BudgetResult {
  report::BudgetReport report;
  std::vector<std::string> diverged;  // what those runs said
  size_t open = 0;                    // runs that other processes work on, or have to
};

// All runs, resolved as far as the texts go. Throws UsageError.
std::vector<Job> budget_list(const config::RunConfig& config, const BudgetOptions& options);

// Runs what is not finished yet, in <folder>/<label>-e<epochs>-b<batch>-seed<n>, all seeds of a
// round before the next, and keeps budget.md, .json, .csv and .svg there up to date. The same call
// on an interrupted folder goes on.
BudgetResult compare_budgets(const config::RunConfig& config, const BudgetOptions& options);

}  // namespace adagp::experiment
