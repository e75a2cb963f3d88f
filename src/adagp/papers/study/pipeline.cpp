#include "adagp/papers/study/pipeline.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/pipeline_requests.h"
#include "adagp/papers/study/ranges.h"

namespace adagp::study {
namespace {

constexpr int64_t kMostEpochBatches = 100'000'000;
constexpr int64_t kMostPipelineEpochs =
    1'000'000'000;  // times an epoch's batches far below 64 bits
constexpr int64_t kMostCopies = 65536, kUsualEpochBatches = 1000;

void check_cost(const char* flag, double value) {
  if (!is_pipeline_cost(value)) {
    throw UsageError(core::cat(flag, " ", value, ", expected ", pipeline_cost_text()));
  }
}

void check_options(const PipelineOptions& options) {
  for (const auto& [flag, value] : {std::pair{"--fw", options.forward},
                                    {"--bw", options.backward},
                                    {"--summary", options.rest.summary},
                                    {"--predictor", options.rest.predict_update},
                                    {"--optimizer", options.rest.optimizer},
                                    {"--predictor-step", options.rest.predictor_step},
                                    {"--bytes", options.rest.output_bytes},
                                    {"--weight-bytes", options.rest.weight_bytes},
                                    {"--summary-bytes", options.rest.summary_bytes},
                                    {"--latency", options.latency},
                                    {"--bandwidth", options.bandwidth},
                                    {"--copy-latency", options.copy_latency.value_or(0)},
                                    {"--copy-bandwidth", options.copy_bandwidth.value_or(0)},
                                    {"--bucket-bytes", options.bucket_bytes},
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
  const int64_t epoch = options.batches_per_epoch.value_or(1);
  if (epoch < 1 || epoch > kMostEpochBatches) {
    throw UsageError(
        core::cat("--batches-per-epoch is ", epoch, ", expected 1 to ", kMostEpochBatches));
  }
}

bool with_accelerator(const PipelineOptions& options) {
  const Options& network = options.accelerator;
  return !network.models.empty() || !network.table.empty() || !network.exported().empty() ||
         !network.tables.empty();
}

// One combination.
struct PipelinePoint {
  pipeline::Request request;
  int copies = 1;
  int64_t batch = 0;  // as given; 0: not known
};

// Items of the network, where costs are not the same for all stages. `batch` is a copy's.
std::vector<PipelineItem> items_for(const PipelineOptions& options, int64_t batch,
                                    int micro_batches) {
  if (!options.items.empty()) return options.items;
  if (!options.costs_file.empty()) return read_items(options.costs_file);
  if (!with_accelerator(options)) return {};
  Options network = options.accelerator;
  network.batches = std::to_string(batch);
  auto items = accelerator_items(network, options.design, micro_batches);
  for (PipelineItem& item : items) {
    if (!options.free_predictor) break;
    item.cost.predict_update = item.cost.optimizer = item.cost.predictor_step = 0;
  }
  return items;
}

// Whether a low-resolution batch comes right before a BP batch, in whose bubbles it may run.
bool has_low_before_exact(const pipeline::Sequence& sequence) {
  const auto& cycle = sequence.cycle;
  for (size_t i = 0; i < cycle.size() && static_cast<int64_t>(i) + 1 < sequence.batches; ++i) {
    const pipeline::Phase next = cycle[(i + 1) % cycle.size()];
    if (cycle[i] == pipeline::Phase::kLowRes && next == pipeline::Phase::kBackprop) return true;
  }
  return false;
}

// Of a pipeline whose batch has `batch` examples. `with_low` as of cut().
PipelineCosts costs_for(const PipelineOptions& options, const pipeline::Placement& placement,
                        int64_t batch, bool with_low) {
  PipelineCosts out;
  const auto items = items_for(options, batch, placement.micro_batches);
  if (items.empty()) {
    pipeline::StageCost cost = options.rest;
    cost.forward = options.forward;
    cost.backward = options.backward;
    cost.input_gradient = cost.weight_gradient = options.backward / 2;
    out.costs = pipeline::uniform_costs(placement, cost);
  } else {
    out = cut(items, placement, options.memory_limit, with_low);
  }
  out.costs.latency = options.latency;
  out.costs.bandwidth = options.bandwidth;
  out.costs.copies = {1, options.copy_latency.value_or(options.latency),
                      options.copy_bandwidth.value_or(options.bandwidth), options.bucket_bytes,
                      pipeline::parse_all_reduce(options.all_reduce)};
  return out;
}

int64_t share_of(const PipelineOptions& options, const PipelinePoint& point) {
  if (!options.split_batch) return point.batch;
  if (point.batch % point.copies != 0) {
    throw UsageError(
        core::cat("pipeline: ", point.copies, " copies do not divide a batch of ", point.batch));
  }
  return point.batch / point.copies;
}

SteadyTimes steady_times(const PipelineOptions& options, const pipeline::Placement& placement,
                         const pipeline::Costs& costs) {
  using pipeline::Phase;
  const pipeline::Costs plain = pipeline::plain_costs(costs);
  const auto exact = [&](const pipeline::Placement& where) {
    return pipeline::steady_time(where, plain, {Phase::kBackprop}, options.overlap);
  };
  pipeline::Placement twice = placement;
  twice.micro_batches *= 2;
  const double both =
      pipeline::steady_time(placement, costs, {Phase::kPredict, Phase::kBackprop}, options.overlap);
  return {exact(placement), both / 2, exact(twice) / 2};
}

PipelineRun run_one(const PipelineOptions& options, const PipelinePoint& point,
                    const schedule::Schedule& training, int64_t batches_per_epoch) {
  PipelineRun run;
  run.placement = pipeline::make_placement(point.request);
  run.copies = point.copies;
  run.batch = options.split_batch ? point.batch : point.batch * point.copies;
  run.shared_batch = options.split_batch;
  run.batches_per_epoch = batches_per_epoch;
  run.sequence = pipeline::parse_phases(options.phases);
  if (options.batches) run.sequence.batches = *options.batches;
  run.overlap = options.overlap;
  const bool with_low = run.overlap && has_low_before_exact(run.sequence);
  run.costs = costs_for(options, run.placement, share_of(options, point), with_low);
  pipeline::Costs& costs = run.costs.costs;
  const pipeline::Costs alone = pipeline::plain_costs(
      options.split_batch ? costs_for(options, run.placement, point.batch, with_low).costs : costs);
  run.ideal =
      pipeline::steady_time(run.placement, alone, {pipeline::Phase::kBackprop}, options.overlap);
  if (options.split_batch) run.ideal /= point.copies;
  costs.copies.count = point.copies;
  pipeline::SimulateOptions how;
  how.overlap = options.overlap;
  run.result = simulate(run.placement, sequence_costs(run), run.sequence, how);
  run.steady = steady_times(options, run.placement, costs);
  run.training = training_time(run.placement, costs, training, options.epochs, batches_per_epoch,
                               options.overlap);
  return run;
}

// The network that all runs share, and how many examples its epoch has (0: not known).
struct PipelineNetwork {
  std::vector<int64_t> batches{0};
  int64_t examples = 0;
};

PipelineNetwork describe_network(const PipelineOptions& options, PipelineStudy& study) {
  PipelineNetwork out;
  if (!with_accelerator(options)) {
    if (!options.accelerator.batches.empty() || options.split_batch) {
      throw UsageError(
          core::cat("pipeline: ", options.split_batch ? "--split-batch" : "--batch",
                    " needs --model, --table, --pt2 or --onnx: other costs do not depend on "
                    "the batch size"));
    }
    return out;
  }
  Options one = options.accelerator;
  one.designs = "baseline";
  if (!one.examples) one.examples = 1;  // for the study alone, which computes no run here
  const Study network = make_study(one);
  out.batches.clear();
  for (const Case& each : network.cases) {
    if (each.model != network.cases[0].model || each.input != network.cases[0].input) continue;
    if (std::find(out.batches.begin(), out.batches.end(), each.batch) == out.batches.end()) {
      out.batches.push_back(each.batch);
    }
  }
  study.missing = network.cases[0].missing;
  study.missing_lines = missing_lines(network);
  if (options.accelerator.examples) {
    out.examples = *options.accelerator.examples;
  } else if (!options.accelerator.models.empty()) {
    out.examples = known_examples(network.cases[0].input).value_or(0);
  }
  return out;
}

int64_t epoch_batches(const PipelineOptions& options, const PipelineNetwork& network,
                      int64_t batch) {
  if (options.batches_per_epoch) return *options.batches_per_epoch;
  return network.examples > 0 ? accel::batches_of(network.examples, batch) : kUsualEpochBatches;
}

}  // namespace

pipeline::Costs sequence_costs(const PipelineRun& run) {
  const auto& cycle = run.sequence.cycle;
  const bool predicts =
      std::find(cycle.begin(), cycle.end(), pipeline::Phase::kPredict) != cycle.end();
  return predicts ? run.costs.costs : pipeline::plain_costs(run.costs.costs);
}

PipelineStudy run_pipelines(const PipelineOptions& options, const PipelineProgress& progress) {
  check_options(options);
  const bool measured = !options.costs_file.empty() || !options.items.empty();
  if (with_accelerator(options) && measured) {
    throw UsageError(
        "pipeline: costs from --costs and from --model, --table, --pt2 or --onnx; expected one");
  }
  const auto requests = pipeline_requests(options);
  const auto copies =
      parse_numbers(options.copies.empty() ? "1" : options.copies, "--copies", kMostCopies);
  PipelineStudy study;
  const PipelineNetwork network = describe_network(options, study);
  const size_t count = requests.size() * network.batches.size() * copies.size();
  if (count > kMostRuns) {
    throw UsageError(core::cat("pipeline: ", count, " combinations, expected at most ", kMostRuns));
  }
  study.unit = with_accelerator(options)    ? "cycles"
               : !options.items.empty()     ? options.items_unit
               : options.costs_file.empty() ? "steps"
                                            : "units of " + options.costs_file;
  const auto training = schedule::Schedule::parse(options.training, options.epochs);
  study.training = training.str();
  study.epochs = options.epochs;
  size_t done = 0;
  const auto run = [&](const PipelinePoint& point) {
    if (progress) progress(done++, count);
    try {
      const int64_t all = options.split_batch ? point.batch : point.batch * point.copies;
      study.runs.push_back(run_one(options, point, training, epoch_batches(options, network, all)));
    } catch (const UsageError& error) {
      if (count == 1) throw;
      study.skipped.emplace_back(error.what());
    }
  };
  for (const auto& request : requests) {
    for (const int64_t batch : network.batches) {
      for (const int64_t number : copies) run({request, static_cast<int>(number), batch});
    }
  }
  if (progress) progress(done, count);
  if (study.runs.empty()) throw UsageError(study.skipped.front());
  return study;
}

}  // namespace adagp::study
