#pragma once
// What `adagp pipeline` runs: every combination of schedules, stages, micro-batches, batch sizes
// and copies.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adagp/papers/study/pipeline_costs.h"
#include "adagp/results/report/chart.h"
#include "adagp/sim/pipeline/simulate.h"
#include "adagp/sim/pipeline/training.h"

namespace adagp::study {

struct PipelineOptions {
  // Costs, bytes and bandwidths are 0 or within kLeastPipelineCost and kMostPipelineCost.
  std::string schedules = "gpipe";  // names, or "all"
  std::string schedule_file;        // PyTorch's CSV, instead of schedules, stages and micro-batches
  std::string stages, micro_batches;  // numbers, lists, ranges; empty: 4, of a sweep more
  bool sweep = false;
  int chunks = 0;  // see pipeline::Request
  std::string phases = "bp";
  std::optional<int64_t> batches;         // else one cycle of the phases
  bool overlap = true;                    // see pipeline::Request
  double gp_share = 1, low_share = 0.25;  // see pipeline::Placement
  // Costs that all stages share; with `costs_file` or `accelerator` only latency and bandwidth.
  double forward = 1, backward = 2;
  pipeline::StageCost rest{0, 0, 0,
                           0};  // summary, predict_update, optimizer, predictor_step, bytes
  double latency = 0, bandwidth = 0;
  std::string copies;                                  // of the pipeline, as `stages`; empty: 1
  std::optional<double> copy_latency, copy_bandwidth;  // between them; else as between stages
  std::string all_reduce = "ring";
  double bucket_bytes = 4 * 1024 * 1024;  // as the engine's
  bool split_batch = false;               // copies share the batch; else each has one of its own
  std::string costs_file;
  std::vector<PipelineItem> items;  // such costs in memory, instead of a file
  std::string items_unit = "units of time";
  Options accelerator;               // of one network, when it has one
  std::string design = "efficient";  // of each device, with `accelerator`
  bool free_predictor = false;       // leave the predictor's cycles out
  double memory_limit = 0;           // bytes per stage; 0: none
  // The run whose speed-up is told.
  std::string training = "auto";
  int64_t epochs = 90;
  std::optional<int64_t> batches_per_epoch;  // else by the accelerator's data set, or 1000
};

// Time per batch when batches follow endlessly.
struct SteadyTimes {
  double exact = 0;  // BP alone
  double mixed = 0;  // GP and BP in turn
  // BP with twice the micro-batches and one exchange: as many examples and as few gradients
  // exchanged as `mixed`, with exact gradients.
  double accumulated = 0;
};

struct PipelineRun {
  pipeline::Placement placement;
  int copies = 1;
  int64_t batch = 0;          // examples of all copies; 0: not known
  bool shared_batch = false;  // as PipelineOptions::split_batch
  int64_t batches_per_epoch = 0;
  SteadyTimes steady;
  double ideal = 0;  // `steady.exact` if the copies lost nothing against one alone
  PipelineCosts costs;
  pipeline::Sequence sequence;
  bool overlap = true;
  pipeline::Result result;
  // Speed-up of GP : BP = 1 : 1 over BP, without end.
  double steady_limit() const { return steady.exact / steady.mixed; }
  pipeline::TrainingTime training;
};

// Of the run's own phases: without GP batches, plain backprop's.
pipeline::Costs sequence_costs(const PipelineRun& run);

struct PipelineStudy {
  std::string unit;      // of times
  std::string training;  // the schedule, written out
  int64_t epochs = 0;
  layers::Missing missing;    // what the network's table leaves out
  std::string missing_lines;  // the same in words; "" when nothing
  std::vector<PipelineRun> runs;
  std::vector<std::string> skipped;  // of several: what a schedule cannot do, and why
};

// `progress(done, all)` is called before each run and at the end; what it throws ends the study.
using PipelineProgress = std::function<void(size_t done, size_t all)>;
// Throws UsageError and DataError.
PipelineStudy run_pipelines(const PipelineOptions& options, const PipelineProgress& progress = {});

std::string pipeline_text(const PipelineStudy& study, bool gantt);
// An object, of several an array. With `gantt` runs have "events": [device, start, end,
// micro-batch, "forward", "backward" or "predictor"].
std::string pipeline_json(const PipelineStudy& study, bool gantt = false);
std::string pipeline_csv(const PipelineStudy& study);
report::GanttChart pipeline_chart(const PipelineStudy& study);  // of one run
report::GanttChart pipeline_chart(const PipelineStudy& study, const PipelineRun& run);
bool several_copies(const PipelineStudy& study);  // in some run
// Speed of each device over the number of copies, as a multiple of BP's on one copy.
report::LineChart scaling_chart(const PipelineStudy& study);
// What ran when, and the op lists behind it. UsageError for more than a picture can hold.
std::vector<pipeline::Event> pipeline_events(const PipelineRun& run);
pipeline::OpLists pipeline_op_lists(const PipelineRun& run);

}  // namespace adagp::study
