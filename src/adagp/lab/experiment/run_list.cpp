#include "adagp/lab/experiment/run_list.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/provenance.h"
#include "adagp/base/core/sha256.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/task/fingerprint.h"
#include "adagp/lab/experiment/runs.h"

namespace adagp::experiment {
namespace {

// The keys of a run that change what is computed, with their values.
ListIdentity fields_of(config::RunConfig config) {
  core::Binding binding;
  bind(binding, config);
  const auto& cosmetic = config::cosmetic_keys();
  ListIdentity out;
  for (const auto& field : binding.fields()) {
    if (std::find(cosmetic.begin(), cosmetic.end(), field.key) != cosmetic.end()) continue;
    out.emplace_back(field.key, core::Binding::value_text(field));
  }
  return out;
}

// What a list trains, in a few words.
std::string list_text(const std::vector<Job>& jobs) {
  std::string all;
  for (const Job& job : jobs) {
    all += job.folder + "\n";
    for (const auto& [key, value] : fields_of(job.config)) all += core::cat(key, "=", value, "\n");
  }
  constexpr size_t kDigits = 8;
  return core::cat(jobs.size(), " runs, ", core::hex(core::sha256(all)).substr(0, kDigits));
}

}  // namespace

std::vector<int64_t> seeds_from(int64_t first, int64_t count) {
  const int64_t most = std::numeric_limits<int64_t>::max() - (count - 1);
  if (first > most) {
    throw UsageError(core::cat("--seed ", first, " and --seeds ", count,
                               ": the last seed is too large; expected --seed up to ", most));
  }
  std::vector<int64_t> seeds(static_cast<size_t>(count));
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

std::string unit_of(const Job& job) {
  return job.unit.empty() ? core::cat("seed", job.config.seed) : job.unit;
}

std::map<std::string, size_t> places_of_units(const std::vector<Job>& jobs) {
  std::map<std::string, size_t> out;
  for (const Job& job : jobs) out.emplace(unit_of(job), out.size());
  return out;
}

SharedList join_list(const std::string& command, const std::vector<Job>& jobs, TaskCache& tasks,
                     const RunListOptions& options, const Sharing& sharing) {
  config::RunConfig config = jobs.front().config;
  const task::TaskPtr task = tasks.open(config);
  task->resolve(config);
  ListIdentity identity{{"command", command},
                        {"overwrite", options.overwrite ? "yes" : "no"},
                        {"version", core::version()},
                        {"data", task::fingerprint(*task, config)}};
  // The first run stands for the recipe, so that a message can name a key.
  for (auto& field : fields_of(jobs.front().config)) identity.push_back(std::move(field));
  identity.emplace_back("list", list_text(jobs));
  return {options.folder, sharing, identity, options.overwrite};
}

std::string seedless(config::RunConfig config) {
  config.seed = 0;
  core::Binding binding;
  bind(binding, config);
  return binding.to_toml();
}

std::string folder_name(const std::string& label) {
  std::string out;
  for (const char c : label) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ||
                       c == '_' || c == '+';
    if (plain || (!out.empty() && out.back() != '_')) out += plain ? c : '_';
  }
  return out;
}

std::vector<double> check_list(const std::vector<Job>& jobs, TaskCache& tasks, SharedList& shared,
                               const RunListOptions& options) {
  const std::map<std::string, size_t> places = places_of_units(jobs);
  std::vector<double> costs;
  std::map<std::string, double> known;  // by seedless()
  for (const Job& job : jobs) {
    const core::fs::path folder = options.folder / job.folder;
    if (options.overwrite) run::refuse_own_inputs(job.config, folder);
    costs.push_back(0);
    if (job.seconds_of) {  // plain backprop for as long as a run before it takes
      for (size_t i = 0; i + 1 < costs.size(); ++i) {
        if (jobs[i].folder == job.seconds_of->other) costs.back() = costs[i];
      }
      continue;
    }
    const std::string text = seedless(job.config);
    const bool there = core::fs::exists(folder / "config.toml");
    if (!known.contains(text) || (there && !options.overwrite)) {
      const std::string unit = unit_of(job);
      // Whoever works on it has checked it.
      if (!shared.take(unit, places.at(unit))) continue;
      const double cost = check_run(job.config, tasks.open(job.config), folder, options.overwrite);
      shared.release(unit);
      if (is_finished(folder, options.overwrite)) continue;
      known[text] = cost;
    }
    costs.back() = known.at(text);
  }
  return costs;
}

std::string to_do(size_t open, size_t runs, double cost) {
  const std::string out = core::cat(open, " of ", runs, " runs to do");
  if (open == 0) return out;
  return core::cat(out, ", which cost about ", core::fixed(cost, 0), " epochs of plain backprop");
}

void announce_list(const std::vector<Job>& jobs, const std::vector<double>& costs,
                   const RunListOptions& options) {
  size_t open = 0;
  double epochs = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (is_finished(options.folder / jobs[i].folder, options.overwrite)) continue;
    ++open;
    if (std::isfinite(costs[i])) epochs += costs[i];
  }
  if (open == 0) return;
  core::log_info(to_do(open, jobs.size(), epochs));
}

void check_new_networks(const std::vector<Job>& jobs, TaskCache& tasks,
                        const core::fs::path& folder) {
  std::set<std::string> known;
  for (const Job& job : jobs) {
    if (core::fs::exists(folder / job.folder / "config.toml")) known.insert(job.config.model.name);
  }
  for (const Job& job : jobs) {
    if (core::pending_signal() != 0 || job.seconds_of) continue;
    if (!known.insert(job.config.model.name).second) continue;
    forecast_run(job.config, tasks.open(job.config));
  }
}

}  // namespace adagp::experiment
