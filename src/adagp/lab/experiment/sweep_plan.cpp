#include "adagp/lab/experiment/sweep_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/train/build.h"
#include "adagp/engine/train/unused_keys.h"

namespace adagp::experiment {
namespace {

void set_key(config::RunConfig& config, const std::string& key, const std::string& value) {
  core::Binding binding;
  bind(binding, config);
  binding.set(key, value, "--over " + key);
}

config::RunConfig config_of(const config::RunConfig& base, const study::SweepPoint& point) {
  config::RunConfig out = base;
  for (const auto& [key, value] : point.values) set_key(out, key, value);
  return out;
}

std::string value_of(config::RunConfig config, const std::string& key) {
  core::Binding binding;
  bind(binding, config);
  for (const auto& field : binding.fields()) {
    if (field.key == key) return core::Binding::value_text(field);
  }
  return "";
}

// The point by another method. Keys which that method does not read keep the recipe's values, so
// that points which differ in such keys alone have the same control.
SweepTraining control_of(const config::RunConfig& base, const study::SweepPoint& point,
                         config::RunConfig config, std::string label) {
  for (const auto& [key, value] : point.values) {
    if (key == "method") continue;
    if (train::why_unused(config, key).empty()) {
      label += core::cat(", ", key, "=", value);
    } else {
      set_key(config, key, value_of(base, key));
    }
  }
  return {label, config};
}

int place_of(std::vector<SweepTraining>& controls, SweepTraining control) {
  const auto same = std::find_if(controls.begin(), controls.end(), [&](const SweepTraining& one) {
    return one.label == control.label;
  });
  if (same == controls.end()) {
    controls.push_back(std::move(control));
    return static_cast<int>(controls.size()) - 1;
  }
  return static_cast<int>(same - controls.begin());
}

// Batches of backprop that cost as much, rounded down to a twentieth of an epoch: points that cost
// nearly the same share one control.
int64_t equal_batches(const RunForecast& forecast) {
  const auto per_epoch = static_cast<double>(forecast.batches_per_epoch);
  const auto batches = static_cast<int64_t>(std::floor(forecast.cost_epochs * per_epoch + 1e-6));
  const int64_t grain = std::max<int64_t>(1, forecast.batches_per_epoch / 20);
  return std::max<int64_t>(1, batches / grain * grain);
}

bool wants(const SweepOptions& options, const char* control) {
  return std::find(options.controls.begin(), options.controls.end(), control) !=
         options.controls.end();
}

void add_controls(SweepPlan& plan, PlannedPoint& planned, const config::RunConfig& base,
                  const study::SweepPoint& point, const SweepOptions& options) {
  const config::RunConfig& own = planned.training.config;
  const method::MethodEntry entry = method::find_method(own.method);
  if (wants(options, "bp") && own.method != "bp" && !entry.length) {
    if (entry.cheap == method::Cheap::kDecided || !std::isfinite(planned.forecast.cost_epochs)) {
      plan.notes.push_back(planned.training.label +
                           ": has no backprop of equal cost beside it, because its cost is not "
                           "known before it runs.");
    } else {
      config::RunConfig config = own;
      config.method = "equal-time";
      config.equal_time_batches = equal_batches(planned.forecast);
      planned.bp = place_of(plan.controls,
                            control_of(base, point, config,
                                       core::cat("bp of ", config.equal_time_batches, " batches")));
    }
  }
  if (wants(options, "skip") && own.method != "skip" && entry.cheap == method::Cheap::kScheduled) {
    config::RunConfig config = own;
    config.method = "skip";
    planned.skip = place_of(plan.controls, control_of(base, point, config, "skip"));
  }
}

// FNV-1a: the same on every machine.
std::string short_hash(const std::string& text) {
  uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  char out[9];
  std::snprintf(out, sizeof out, "%08x", hash);
  return out;
}

// Names that say less than the label get a number of their own.
std::string folder_of(const std::string& label, int64_t seed) {
  constexpr size_t kLongest = 80;
  std::string name = folder_name(label);
  if (name.size() > kLongest) name.resize(kLongest);
  if (name != label) name += "-" + short_hash(label);
  return core::cat(name, "-seed", seed);
}

}  // namespace

SweepPlan plan_sweep(const config::RunConfig& config, const SweepOptions& options,
                     TaskCache& tasks) {
  SweepPlan plan;
  for (const study::SweepPoint& point : options.points) {
    PlannedPoint& planned = plan.points.emplace_back();
    planned.training = {point.name, config_of(config, point)};
    train::check_names(planned.training.config);
    planned.forecast = forecast_run(planned.training.config, tasks.open(planned.training.config));
    add_controls(plan, planned, config, point, options);
  }
  for (size_t i = 0; i < plan.points.size(); ++i) plan.order.push_back(i);
  const auto cost = [&](size_t i) {
    const double counted = plan.points[i].forecast.cost_epochs;
    return std::isfinite(counted) ? counted
                                  : static_cast<double>(plan.points[i].training.config.epochs);
  };
  std::stable_sort(plan.order.begin(), plan.order.end(),
                   [&](size_t a, size_t b) { return cost(a) < cost(b); });
  return plan;
}

std::vector<SweepJob> sweep_jobs(const SweepPlan& plan, const std::vector<size_t>& points,
                                 int64_t first_seed, int64_t seeds) {
  std::vector<SweepJob> jobs;
  std::set<std::string> folders;
  for (const int64_t seed : seeds_from(first_seed, seeds)) {
    const auto add = [&](const SweepTraining& training, bool control, size_t index) {
      SweepJob one{control,
                   index,
                   {core::cat(training.label, ", seed ", seed), training.config,
                    folder_of(training.label, seed)}};
      one.job.config.seed = seed;
      if (folders.insert(one.job.folder).second) jobs.push_back(std::move(one));
    };
    for (const size_t i : plan.order) {
      if (std::find(points.begin(), points.end(), i) == points.end()) continue;
      const PlannedPoint& point = plan.points[i];
      add(point.training, false, i);
      for (const int control : {point.bp, point.skip}) {
        if (control < 0) continue;
        add(plan.controls[static_cast<size_t>(control)], true, static_cast<size_t>(control));
      }
    }
  }
  return jobs;
}

}  // namespace adagp::experiment
