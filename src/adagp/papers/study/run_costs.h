#pragma once
// A whole training run on an accelerator, whatever its method: the batches that a finished run
// counted, or those that a method would have, with the cost of each kind.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "adagp/base/core/files.h"
#include "adagp/base/plan/batch_work.h"
#include "adagp/papers/study/study.h"
#include "adagp/sim/accel/simulate.h"
#include "adagp/sim/layers/table.h"

namespace adagp::study {

struct TrainingRun {
  std::string name;  // of the folder; of a plan its method
  std::string method, model, input;
  std::string precision;  // of a finished run
  std::string settings;   // of a finished run: its keys but for length, seed and machine
  int64_t batch = 0, epochs = 0, seed = 0;
  std::string metric;
  std::optional<double> score;  // of a finished run
  plan::BatchCounts batches;
  std::map<int64_t, layers::Table> tables;  // all operations, by image side; 0: as the data is
  predictor::Config predictor;
  accel::UpdateWords update;
};

// Of finished runs. Throws DataError, naming the folder, when one is not finished, when an earlier
// version wrote it, or for files that are not a run's; UsageError for methods whose batches the
// simulator does not know. A run's name is its folder's, with as many of the folders above it as
// tell it from the others.
std::vector<TrainingRun> read_training_runs(const std::vector<std::string>& folders);

// A network's table for images of another side (0: the same).
using TableMaker = std::function<layers::SideTable(const layers::Table& full, int64_t side)>;

struct RunPlanOptions {
  std::string methods;  // names with commas between; "progressive@20/24" has its own lengths
  std::string optimizer = "sgd";
  int64_t seed = 0;
};
// The runs of each method with each network, input and batch size of `options`.
std::vector<TrainingRun> plan_training_runs(const Options& options, const RunPlanOptions& plan,
                                            const TableMaker& make_table);

// Batches that cost the same, and one of them.
struct GroupCost {
  plan::BatchGroup group;
  int64_t batches = 0;
  accel::Cycles cycles = {};
  accel::Energy energy = {};
  double dram_words = 0;
};
// A run on a machine with a design. A run that does not predict has the design "baseline".
struct RunCost {
  size_t run = 0;
  accel::Accelerator accelerator;
  const accel::Design* design = nullptr;
  int64_t predictor_weights = 0;
  std::vector<GroupCost> groups;
  accel::Cycles cycles;  // of the whole run, as what follows
  accel::Energy energy;
  double dram_bytes = 0, seconds = 0;
};
// Throws UsageError for machines and designs that cannot take the runs, DataError for cycles beyond
// 64 bits.
std::vector<RunCost> simulate_runs(const std::vector<TrainingRun>& runs, const Options& options);

// What a reader of these numbers must know beside them, a line each.
std::vector<std::string> run_cost_warnings(const std::vector<TrainingRun>& runs,
                                           const std::vector<RunCost>& costs);
// A row for runs that differ in their seed alone: means.
std::string run_cost_text(const std::vector<TrainingRun>& runs, const std::vector<RunCost>& costs);
// A row for each run.
std::string run_cost_csv(const std::vector<TrainingRun>& runs, const std::vector<RunCost>& costs);
// An object for each run and design, with what a batch of each group costs.
nlohmann::ordered_json run_cost_json(const std::vector<TrainingRun>& runs,
                                     const std::vector<RunCost>& costs);
// Score against cycles, and below it against joules, for each network and machine: a point for runs
// that differ in their seed alone. Throws UsageError for runs without a score.
std::string run_cost_picture(const std::vector<TrainingRun>& runs,
                             const std::vector<RunCost>& costs);

}  // namespace adagp::study
