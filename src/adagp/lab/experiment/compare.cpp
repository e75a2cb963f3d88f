#include "adagp/lab/experiment/compare.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/train/build.h"
#include "adagp/engine/train/conditions.h"
#include "adagp/lab/experiment/run_list.h"
#include "adagp/lab/experiment/run_record.h"

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

// All methods of a seed before the next one.
std::vector<Job> jobs_of(const config::RunConfig& config, const CompareOptions& options) {
  std::vector<Job> jobs;
  for (const int64_t seed : seeds_from(config.seed, options.seeds)) {
    const auto folder = [&](const std::string& method) { return core::cat(method, "-seed", seed); };
    for (const auto& method : in_order(options.methods)) {
      Job& job = jobs.emplace_back(Job{core::cat(method, ", seed ", seed), config, folder(method)});
      job.config.method = method;
      job.config.seed = seed;
      if (follows_others(method) && !has_own_budget(config)) {
        job.seconds_of = {folder("bp"), folder("adagp")};
      }
    }
  }
  return jobs;
}

}  // namespace

std::vector<Job> compare_list(const config::RunConfig& config, const CompareOptions& options) {
  check_methods(config, options.methods);
  train::check_names(config);
  return jobs_of(config, options);
}

CompareResult compare_methods(const config::RunConfig& config, const CompareOptions& options) {
  const std::vector<Job> jobs = compare_list(config, options);
  core::make_folder(options.folder);
  TaskCache tasks;
  const task::TaskPtr task = tasks.open(config);

  const RunListOptions list{options.folder, options.overwrite};
  SharedList shared = join_list("compare", jobs, tasks, list, options.sharing);
  announce_list(jobs, check_list(jobs, tasks, shared, list), list);
  CompareResult result;
  std::string about;
  std::vector<report::RunRecord> runs;
  result.open = run_list(jobs, tasks, shared, list, [&](size_t job, const JobResult& one) {
    if (!one.summary) {
      result.diverged.push_back(jobs[job].folder + ": " + one.diverged);
      return;
    }
    const report::Summary& s = *one.summary;
    runs.push_back(record_of(s, options.folder / jobs[job].folder));
    about = core::cat(s.model, " on ", s.data, ", ", about_training(s));
  });
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
