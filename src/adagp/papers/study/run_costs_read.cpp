// Where training runs come from: the folder of a finished one, or a configuration.

#include <algorithm>
#include <map>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/papers/study/run_costs.h"
#include "adagp/papers/study/study_parts.h"
#include "adagp/results/report/run_files.h"
#include "adagp/results/report/summary.h"

namespace adagp::study {
namespace {

using core::fs::path;
using plan::Work;

report::Summary read_summary(const path& folder) {
  const path file = folder / "summary.json";
  if (core::fs::exists(file)) return report::Summary::read(file);
  if (!report::is_run_folder(folder)) {
    throw DataError(folder.string() +
                    ": is no run folder; expected one that 'adagp train -o' wrote");
  }
  throw DataError(folder.string() +
                  ": has no summary.json, so the run is not finished; give its command again, "
                  "which goes on from its checkpoint");
}

// All batches are counted, and the simulator has a cost for each.
void check_batches(const report::Summary& summary, const config::RunConfig& config,
                   const path& folder) {
  int64_t counted = 0;
  for (const auto& [group, batches] : summary.batches) {
    counted += batches;
    if (group.work != Work::kOther) continue;
    const bool by_head = config.head != "predicted" &&
                         plan::work_of(config, schedule::Phase::kBackprop) != Work::kOther;
    throw UsageError(core::cat(folder.string(), ": method ", summary.method,
                               by_head ? " with head = " + config.head : "",
                               ": the simulator has no cost for its batches"));
  }
  const int64_t all = summary.bp_batches + summary.gp_batches;
  if (counted == all) return;
  throw DataError(core::cat(
      folder.string(), ": summary.json has ",
      counted == 0 ? "no table of the run's batches" : core::cat(counted, " batches in its table"),
      counted == 0 ? "" : core::cat(", expected ", all),
      ": the run was trained by an earlier version; train it again"));
}

config::RunConfig read_keys(const path& folder) {
  const path file = folder / "config.toml";
  config::RunConfig config;
  core::Binding binding;
  bind(binding, config);
  try {
    binding.load_toml(core::read_regular_file(file, size_t{1} << 20), file.string());
  } catch (const UsageError& error) {
    throw DataError(core::cat("not a run's configuration: ", error.what()));
  }
  return config;
}

layers::Table read_table(const path& folder, int64_t side) {
  if (!core::fs::exists(folder / "operations")) {
    throw DataError(folder.string() +
                    ": has no tables of the network's operations (operations/): a network with "
                    "operations that cannot run on shapes alone has none, and the simulator cannot "
                    "cost it");
  }
  const path file = folder / report::operations_name(side);
  return layers::from_csv(core::read_regular_file(file), file.string());
}

// The last parts of each path: one, and more where another path has the same.
std::vector<std::string> short_names(const std::vector<std::string>& folders) {
  std::vector<path> rest, names;
  for (const std::string& folder : folders) {
    const path clean = core::fs::weakly_canonical(folder);
    names.push_back(clean.filename());
    rest.push_back(clean.parent_path());
  }
  for (bool more = true; more;) {
    more = false;
    std::map<path, int> uses;
    for (const path& name : names) ++uses[name];
    for (size_t i = 0; i < names.size(); ++i) {
      if (uses[names[i]] < 2 || !rest[i].has_filename()) continue;
      names[i] = rest[i].filename() / names[i];
      rest[i] = rest[i].parent_path();
      more = true;
    }
  }
  std::vector<std::string> out;
  for (const path& name : names) out.push_back(name.string());
  return out;
}

accel::UpdateWords update_of(const config::RunConfig& config, const report::Summary& summary) {
  const bool momentum = config.optim.name == "sgd" && config.optim.momentum > 0;
  const std::string name = momentum                       ? "momentum"
                           : config.optim.name == "adamw" ? "adam"
                                                          : config.optim.name;
  // In bf16 the optimizer works on fp32 weights, and the layers on copies.
  return accel::update_words(name, summary.precision == "bf16");
}

// Runs of other lengths are one setting: TrainingRun::epochs tells them apart.
std::string settings_of(config::RunConfig config) {
  const config::RunConfig usual;
  config.epochs = usual.epochs;
  config.seed = usual.seed;
  config.device = usual.device;
  config.threads = usual.threads;
  core::Binding binding;
  bind(binding, config);
  return binding.to_toml();
}

int64_t side_of(const layers::Table& table) {
  const layers::Row& first = table.rows.front();
  const bool image = layers::is_convolution(first) && first.input[1] == first.input[2];
  return image ? first.input[1] : 0;
}

// Tables at the sides that the batches have.
void add_tables(const TableMaker& make, TrainingRun& run) {
  for (const auto& [group, batches] : run.batches) {
    if (run.tables.contains(group.image_side)) continue;
    run.tables[group.image_side] = make(run.tables.at(0), group.image_side).table;
  }
}

TrainingRun read_training_run(const path& folder) {
  const report::Summary summary = read_summary(folder);
  const config::RunConfig config = read_keys(folder);
  check_batches(summary, config, folder);
  TrainingRun run;
  run.method = summary.method;
  run.model = summary.model;
  run.input = summary.conditions.input;
  run.precision = summary.precision;
  run.settings = settings_of(config);
  run.batch = config.batch;
  run.epochs = summary.epochs;
  run.seed = summary.seed;
  run.metric = summary.metric;
  run.score = summary.score();
  run.batches = summary.batches;
  run.predictor = config.predictor;
  run.update = update_of(config, summary);
  std::set<int64_t> sides{0};
  for (const auto& [group, batches] : run.batches) sides.insert(group.image_side);
  for (const int64_t side : sides) run.tables[side] = read_table(folder, side);
  return run;
}

struct PlannedMethod {
  std::string name;
  int64_t epochs = 0;
};
// "bp,progressive@20/24": lengths of their own, as in `compare --budget`.
std::vector<PlannedMethod> planned_methods(const std::string& text, int64_t epochs) {
  std::vector<PlannedMethod> out;
  for (const std::string& entry : parse_names(text, "--method")) {
    const size_t at = entry.find('@');
    const std::string name = core::trim(entry.substr(0, at));
    if (at == std::string::npos) {
      out.push_back({name, epochs});
      continue;
    }
    for (const std::string& length : core::split(entry.substr(at + 1), '/')) {
      long long own = 0;
      if (!core::parse_integer(core::trim(length), own) || own < 1 || own > kMostEpochs) {
        throw UsageError(core::cat("--method ", entry, ": '", length,
                                   "' is not a number of epochs, expected 1 to ", kMostEpochs));
      }
      out.push_back({name, own});
    }
  }
  return out;
}

}  // namespace

std::vector<TrainingRun> read_training_runs(const std::vector<std::string>& folders) {
  const std::vector<std::string> names = short_names(folders);
  std::vector<TrainingRun> out;
  for (size_t i = 0; i < folders.size(); ++i) {
    out.push_back(read_training_run(folders[i]));
    out.back().name = names[i];
  }
  return out;
}

std::vector<TrainingRun> plan_training_runs(const Options& options, const RunPlanOptions& plan,
                                            const TableMaker& make_table) {
  Study study;
  const std::vector<Source> networks = read_sources(options, study);
  const Lists lists = read_lists(options);
  if (lists.predictors.size() > 1) {
    throw UsageError("simulate: --method takes one size of the predictor");
  }
  std::vector<TrainingRun> out;
  for (const Source& network : networks) {
    for (const int64_t batch : lists.batches) {
      for (const auto& [method, epochs] : planned_methods(plan.methods, options.epochs)) {
        config::RunConfig config;
        config.method = method;
        config.epochs = epochs;
        config.batch = batch;
        config.schedule = options.schedule;
        config.seed = plan.seed;
        TrainingRun run;
        run.name = run.method = method;
        run.model = network.model;
        run.input = network.input;
        run.batch = batch;
        run.epochs = epochs;
        run.seed = plan.seed;
        run.tables[0] = *network.table;
        run.predictor = lists.predictors.front();
        run.update = accel::update_words(plan.optimizer);
        const auto rows_of = [&](int64_t blocks) {
          const auto before = make_table(*network.table, 0).rows_before;
          if (blocks < std::ssize(before)) return before[static_cast<size_t>(blocks)];
          throw UsageError(core::cat("freeze.blocks: ", blocks, ", expected at most ",
                                     before.size() - 1, ", the blocks of ", run.model,
                                     " before the last"));
        };
        const int64_t examples = options.examples ? *options.examples : examples_of(network.input);
        run.batches = plan::planned_batches(config, {side_of(*network.table), examples}, rows_of);
        add_tables(make_table, run);
        out.push_back(std::move(run));
      }
    }
  }
  return out;
}

}  // namespace adagp::study
