#include "adagp/experiment/compare.h"

#include <algorithm>
#include <map>

#include "adagp/core/error.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"
#include "adagp/experiment/runs.h"
#include "adagp/method/equal_time.h"
#include "adagp/method/table.h"
#include "adagp/run/precision.h"
#include "adagp/train/conditions.h"

namespace adagp::experiment {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether a run's length is the seconds of others: it comes after them.
bool follows_others(const std::string& method) {
  return static_cast<bool>(method::find_method(method).length);
}

bool has_own_budget(const config::RunConfig& config) {
  return config.equal_time_batches > 0 || !config.equal_time_reference.empty();
}

void check_methods(const config::RunConfig& config, const std::vector<std::string>& methods) {
  if (methods.empty()) throw UsageError("--methods: none given");
  for (const auto& method : methods) {
    if (method.find_first_of("@[") != std::string::npos) {
      throw UsageError("--methods: '" + method + "': lengths and keys of a method need --budget");
    }
    method::find_method(method);
    if (std::count(methods.begin(), methods.end(), method) > 1) {
      throw UsageError("--methods: '" + method + "' twice");
    }
  }
  const auto follower = std::find_if(methods.begin(), methods.end(), follows_others);
  if (follower == methods.end()) return;
  if (!has_own_budget(config) && !(has(methods, "bp") && has(methods, "adagp"))) {
    throw UsageError("--methods: " + *follower +
                     " takes its budget from bp and adagp: add both, or set "
                     "equal_time.batches or equal_time.reference");
  }
  const core::fs::path reference = config.equal_time_reference;
  if (config.equal_time_batches == 0 && !reference.empty()) {
    report::Summary::read(reference / "summary.json");
  }
}

std::vector<std::string> in_order(std::vector<std::string> methods) {
  std::stable_partition(methods.begin(), methods.end(),
                        [](const std::string& method) { return !follows_others(method); });
  return methods;
}

report::RunRecord record_of(const report::Summary& s) {
  report::RunRecord out{s.method,     s.seed,       s.score(), s.train_seconds,
                        s.bp_batches, s.gp_batches, {}};
  out.cosine = s.cosine;
  return out;
}

// The budget that bp and adagp of the same seed give.
void set_budget(config::RunConfig& config, const std::map<std::string, report::Summary>& of_seed) {
  if (!of_seed.contains("bp") || !of_seed.contains("adagp")) {
    throw DivergedError("equal-time has no budget, because bp or adagp of this seed diverged");
  }
  const report::Summary& bp = of_seed.at("bp");
  const report::Summary& adagp = of_seed.at("adagp");
  config.equal_time_batches = method::budget_batches(
      adagp.train_seconds, bp.train_seconds / static_cast<double>(bp.bp_batches), bp.bp_batches);
}

// Whether the equal-time run that is there spent another budget: bp or adagp was made again.
bool is_outdated(config::RunConfig config, const task::TaskPtr& task,
                 const core::fs::path& folder) {
  if (!core::fs::exists(folder / "config.toml")) return false;
  task->resolve(config);
  const config::RunConfig stored = run::read_config(folder);
  if (config.precision != stored.precision) run::resolve_precision(config, false);
  const std::vector<std::string> keys = run::differing_keys(config, stored);
  if (keys != std::vector<std::string>{"equal_time.batches"}) return false;
  core::log_info(core::cat(folder.string(), ": had a budget of ", stored.equal_time_batches,
                           " batches, and bp or adagp of its seed was made again: now it has ",
                           config.equal_time_batches, ", so equal-time is run again too"));
  return true;
}

}  // namespace

CompareResult compare_methods(const config::RunConfig& config, const CompareOptions& options) {
  check_methods(config, options.methods);
  train::check_names(config);
  core::make_folder(options.folder);
  const task::TaskPtr task = task::open_task(config);

  const auto methods = in_order(options.methods);
  const int64_t total = options.seeds * static_cast<int64_t>(methods.size());
  for (const auto& method : methods) {
    for (int64_t seed = config.seed; options.overwrite && seed < config.seed + options.seeds;
         ++seed) {
      run::refuse_own_inputs(config, options.folder / core::cat(method, "-seed", seed));
    }
    if (follows_others(method)) continue;  // plain backprop, whose budget is not known yet
    config::RunConfig one = config;
    one.method = method;
    check_run(one, task, options.folder / core::cat(method, "-seed", one.seed), options.overwrite);
  }
  int64_t number = 0;
  CompareResult result;
  std::string about;
  std::vector<report::RunRecord> runs;
  for (int64_t seed = config.seed; seed < config.seed + options.seeds; ++seed) {
    std::map<std::string, report::Summary> of_seed;
    for (const auto& method : methods) {
      const std::string name = core::cat(method, "-seed", seed);
      const std::string what =
          core::cat("run ", ++number, " of ", total, ": ", method, ", seed ", seed);
      config::RunConfig one = config;
      one.method = method;
      one.seed = seed;
      try {
        bool replace = options.overwrite;
        if (follows_others(method) && !has_own_budget(config)) {
          set_budget(one, of_seed);
          replace = replace || is_outdated(one, task, options.folder / name);
        }
        of_seed[method] = run_or_reuse(one, task, options.folder / name, replace, what);
      } catch (const DivergedError& error) {
        core::log_error(error.what());
        result.diverged.push_back(name + ": " + error.what());
        continue;
      }
      const report::Summary& s = of_seed[method];
      runs.push_back(record_of(s));
      about = core::cat(s.model, " on ", s.data, ", ", s.device, ", ", s.precision, ", ", s.epochs,
                        s.epochs == 1 ? " epoch" : " epochs", " of batch ", s.batch);
    }
  }
  const task::Figure& figure = task->figures().front();
  result.table = report::compare(runs, {figure.name, figure.label, figure.percent});
  config::RunConfig resolved = config;
  task->resolve(resolved);
  result.table.about = about;
  result.table.conditions = train::conditions_of(resolved, *task);
  core::write_file(options.folder / "compare.md", report::to_markdown(result.table));
  core::write_file(options.folder / "compare.json", report::to_json(result.table));
  core::write_file(options.folder / "compare.csv", report::to_csv(result.table));
  return result;
}

}  // namespace adagp::experiment
