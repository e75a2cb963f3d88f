#include "adagp/study/pipeline.h"

#include <cmath>

#include "adagp/core/lookup.h"
#include "adagp/study/output.h"
#include "adagp/study/ranges.h"

namespace adagp::study {
namespace {

constexpr int64_t kMostStages = 4096, kMostMicroBatches = 65536, kMostEpochBatches = 100'000'000;
constexpr int64_t kMostPipelineEpochs =
    1'000'000'000;  // times an epoch's batches far below 64 bits
constexpr size_t kMostRuns = 100'000;

void check_cost(const char* flag, double value) {
  if (!std::isfinite(value) || value < 0) {
    throw UsageError(core::cat(flag, " ", value, ", expected a number that is not negative"));
  }
}

void check_options(const PipelineOptions& options) {
  for (const auto& [flag, value] : {std::pair{"--fw", options.forward},
                                    {"--bw", options.backward},
                                    {"--summary", options.rest.summary},
                                    {"--predictor", options.rest.predict_update},
                                    {"--optimizer", options.rest.optimizer},
                                    {"--bytes", options.rest.output_bytes},
                                    {"--weight-bytes", options.rest.weight_bytes},
                                    {"--summary-bytes", options.rest.summary_bytes},
                                    {"--latency", options.latency},
                                    {"--bandwidth", options.bandwidth},
                                    {"--memory", options.memory_limit}}) {
    check_cost(flag, value);
  }
  if (options.forward + options.backward <= 0) {
    throw UsageError("--fw 0 and --bw 0: nothing takes time; expected one above 0");
  }
  if (options.epochs < 1 || options.epochs > kMostPipelineEpochs) {
    throw UsageError(
        core::cat("--epochs is ", options.epochs, ", expected 1 to ", kMostPipelineEpochs));
  }
  if (options.batches && *options.batches < 1) {
    throw UsageError(core::cat("--batches is ", *options.batches, ", expected 1 or more"));
  }
  if (options.chunks < 0) {
    throw UsageError(core::cat("--chunks is ", options.chunks, ", expected 1 or more"));
  }
  const int64_t epoch = options.batches_per_epoch.value_or(1);
  if (epoch < 1 || epoch > kMostEpochBatches) {
    throw UsageError(
        core::cat("--batches-per-epoch is ", epoch, ", expected 1 to ", kMostEpochBatches));
  }
}

bool with_accelerator(const PipelineOptions& options) {
  const Options& network = options.accelerator;
  return !network.models.empty() || !network.table.empty() || !network.pt2.empty() ||
         !network.tables.empty();
}

// Items of the network, where costs are not the same for all stages.
std::vector<PipelineItem> items_for(const PipelineOptions& options, int micro_batches) {
  if (!options.items.empty()) return options.items;
  if (!options.costs_file.empty()) return read_items(options.costs_file);
  if (!with_accelerator(options)) return {};
  auto items = accelerator_items(options.accelerator, micro_batches);
  for (PipelineItem& item : items) {
    if (!options.free_predictor) break;
    item.cost.predict_update = item.cost.optimizer = 0;
  }
  return items;
}

PipelineCosts costs_for(const PipelineOptions& options, const pipeline::Layout& layout) {
  PipelineCosts out;
  const auto items = items_for(options, layout.micro_batches);
  if (items.empty()) {
    pipeline::StageCost cost = options.rest;
    cost.forward = options.forward;
    cost.backward = options.backward;
    cost.input_gradient = cost.weight_gradient = options.backward / 2;
    out.costs = pipeline::uniform_costs(layout, cost);
  } else {
    out = cut(items, layout, options.memory_limit);
  }
  out.costs.latency = options.latency;
  out.costs.bandwidth = options.bandwidth;
  return out;
}

std::vector<std::string> schedule_names(const std::string& text) {
  return text == "all" ? core::names_of(pipeline::schedules()) : parse_names(text, "--schedule");
}

PipelineRun run_one(const PipelineOptions& options, const pipeline::Request& request,
                    const schedule::Schedule& training, int64_t batches_per_epoch) {
  PipelineRun run;
  run.layout = pipeline::make_layout(request);
  run.costs = costs_for(options, run.layout);
  run.sequence = pipeline::parse_phases(options.phases);
  if (options.batches) run.sequence.batches = *options.batches;
  run.overlap = options.overlap;
  pipeline::SimulateOptions how;
  how.overlap = options.overlap;
  run.result = simulate(run.layout, run.costs.costs, run.sequence, how);
  run.steady_limit = steady_speedup(run.layout, run.costs.costs, options.overlap);
  run.training = training_time(run.layout, run.costs.costs, training, options.epochs,
                               batches_per_epoch, options.overlap);
  return run;
}

// What the network's table says of all runs.
void describe_network(const PipelineOptions& options, PipelineStudy& study) {
  study.batches_per_epoch = options.batches_per_epoch.value_or(1000);
  if (!with_accelerator(options)) return;
  Options one = options.accelerator;
  one.designs = "baseline";
  const Study network = make_study(one);
  study.missing = layers::missing(*network.cases[0].table);
  study.missing_lines = missing_lines(network);
  const bool data_set = !options.accelerator.models.empty() ||
                        (!options.accelerator.tables.empty() && options.accelerator.examples);
  if (!options.batches_per_epoch && data_set) {
    study.batches_per_epoch = network.points[0].run.batches_per_epoch;
  }
}

}  // namespace

PipelineStudy run_pipelines(const PipelineOptions& options, const PipelineProgress& progress) {
  check_options(options);
  const bool measured = !options.costs_file.empty() || !options.items.empty();
  if (with_accelerator(options) && measured) {
    throw UsageError("pipeline: costs from --costs and from --model or --table; expected one");
  }
  const auto numbers = [&](const std::string& text, const char* usual, const char* swept,
                           const char* flag, int64_t most) {
    return parse_numbers(!text.empty() ? text : options.sweep ? swept : usual, flag, most);
  };
  const auto names = schedule_names(options.schedules);
  const auto stages = numbers(options.stages, "4", "2..16*2", "--stages", kMostStages);
  const auto micro =
      numbers(options.micro_batches, "4", "4..64*2", "--micro-batches", kMostMicroBatches);
  const size_t count = names.size() * stages.size() * micro.size();
  if (count > kMostRuns) {
    throw UsageError(core::cat("pipeline: ", count, " combinations, expected at most ", kMostRuns));
  }
  PipelineStudy study;
  study.unit = with_accelerator(options)    ? "cycles"
               : !options.items.empty()     ? options.items_unit
               : options.costs_file.empty() ? "steps"
                                            : "units of " + options.costs_file;
  const auto training = schedule::Schedule::parse(options.training, options.epochs);
  study.training = training.str();
  study.epochs = options.epochs;
  describe_network(options, study);
  auto tell = [&, done = size_t{0}]() mutable {
    if (progress) progress(done++, count);
  };
  for (const auto& name : names) {
    const bool chunked = pipeline::find_schedule(name).chunked;
    for (const int64_t devices : stages) {
      for (const int64_t parts : micro) {
        tell();
        pipeline::Request request;
        request.schedule = name;
        request.devices = static_cast<int>(devices);
        request.micro_batches = static_cast<int>(parts);
        request.chunks = options.chunks > 0 ? options.chunks : chunked ? 2 : 1;
        try {
          study.runs.push_back(run_one(options, request, training, study.batches_per_epoch));
        } catch (const UsageError& error) {
          if (count == 1) throw;
          study.skipped.emplace_back(error.what());
        }
      }
    }
  }
  tell();
  if (study.runs.empty()) throw UsageError(study.skipped.front());
  return study;
}

}  // namespace adagp::study
