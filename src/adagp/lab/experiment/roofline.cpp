#include "adagp/lab/experiment/roofline.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/progress.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/run/precision.h"
#include "adagp/engine/train/build.h"
#include "adagp/gpu/device/choose_device.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/lab/experiment/machine_limits.h"
#include "adagp/lab/experiment/made_up_task.h"
#include "adagp/lab/experiment/peak_memory.h"
#include "adagp/lab/experiment/step_times.h"

namespace adagp::experiment {
namespace {

constexpr std::array<report::Step, report::kSteps> kAllSteps{
    report::Step::kForward, report::Step::kGp, report::Step::kBp, report::Step::kBpTrain};

// Whole steps as they run in training: replayed, without marks in between.
void add_whole_times(report::Roofline& out, const config::RunConfig& config,
                     const task::TaskPtr& task, const data::Batch& batch, int repeats) {
  const StepTimes times =
      measure_steps(config, task, batch, repeats, {"forward", "gp", "bp", "bp-train"});
  const std::array<double, report::kSteps> seconds{times.forward.median, times.gp.median,
                                                   times.bp.median, times.bp_train.median};
  for (report::StepRoofline& step : out.steps) {
    step.measured = seconds[static_cast<size_t>(step.step)];
  }
}

bool runs_forward_twice(const models::Net& net) {
  const auto* blocks = dynamic_cast<const models::BlockNet*>(&net);
  return blocks != nullptr && std::any_of(blocks->blocks().begin(), blocks->blocks().end(),
                                          [](const models::Block& b) { return b.runs_twice; });
}

void add_times(report::Roofline& out, const config::RunConfig& config, const task::TaskPtr& task,
               const at::Device& device, int repeats) {
  const data::Batch batch = task->example(config, config.batch, device);
  if (!device.is_cpu()) add_whole_times(out, config, task, batch, repeats);
  std::map<std::string, StepKinds> times;
  try {
    times = measure_kinds(config, task, batch, repeats);
  } catch (const Error& error) {
    if (device.is_cpu() || dynamic_cast<const Interrupted*>(&error) != nullptr) throw;
    core::log_warning(
        core::cat(out.model, ": no times by kind, a step cannot be recorded: ", error.what()));
    return;
  }
  for (report::StepRoofline& step : out.steps) {
    const StepKinds& found = times.at(name_of(step.step));
    if (device.is_cpu()) step.measured = found.whole;
    double known = 0;
    for (size_t k = 0; k < step.kinds.size(); ++k) {
      step.kinds[k].measured = found.kinds[k];
      known += static_cast<report::Kind>(k) == report::Kind::kOther ? 0 : found.kinds[k];
    }
    // On a GPU the kinds come from another replay than the whole.
    step.kinds[static_cast<size_t>(report::Kind::kOther)].measured =
        std::max(0.0, step.measured - known);
  }
}

struct Prepared {
  config::RunConfig config;
  task::TaskPtr task;
};

Prepared prepare(config::RunConfig config, const std::string& input) {
  task::TaskPtr task = made_up_task(config, input);
  task->resolve(config);
  run::resolve_precision(config);
  if (config.precision == "fast") {
    throw UsageError(
        "bench --roofline: precision = fast: the work of rounding is not counted, and the time is "
        "of an emulation; use --precision fp32 or bf16");
  }
  return {std::move(config), std::move(task)};
}

report::Roofline measure(const Prepared& p, const at::Device& device,
                         const report::MachineLimits& limits, int repeats) {
  report::Roofline out;
  out.model = p.config.model.name;
  out.input = p.task->input_name(p.config);
  out.precision = p.config.precision;
  out.device = device_name(device);
  out.batch = p.config.batch;
  out.limits = limits;
  report::WorkOptions options;
  options.batch = p.config.batch;
  options.element_bytes = p.config.precision == "bf16" ? 2 : 4;
  options.fused = device::has_kernels(device);
  options.optim = p.config.optim;
  options.predictor = p.config.predictor;
  const auto net = task::build_net(p.config, *p.task);
  net->train();
  const auto table = layers::from_model(*net, out.model, out.input, layers::Operations::kAll);
  for (const report::Step step : kAllSteps) {
    out.steps.push_back(report::at_limit(step, report::step_work(table, options, step), limits));
  }
  out.missing = report::not_counted(table, options);
  if (runs_forward_twice(*net)) {
    out.missing.push_back("the second forward pass of reversible blocks in bp and bp-train");
  }
  add_times(out, p.config, p.task, device, repeats);
  return out;
}

}  // namespace

std::vector<std::string> roofline_models() {
  std::vector<std::string> out;
  for (const models::Entry& entry : models::registry()) {
    if (entry.task == models::TaskKind::kClassification) out.push_back(entry.name);
  }
  return out;
}

std::vector<report::Roofline> roofline(const config::RunConfig& config, const std::string& input,
                                       int repeats, const std::vector<std::string>& models,
                                       const report::MachineLimits& given) {
  std::vector<Prepared> all;  // of every network before the first is measured: a wrong name is told
  for (const std::string& model :
       models.empty() ? std::vector<std::string>{config.model.name} : models) {
    config::RunConfig own = config;
    own.model.name = model;
    all.push_back(prepare(std::move(own), input));
  }
  const config::RunConfig& first = all.front().config;
  train::set_threads(first);
  const at::Device device = device::choose_device(first.device);
  const auto type = first.precision == "bf16" ? at::kBFloat16 : at::kFloat;
  const report::MachineLimits limits = machine_limits(device, type, given);
  std::vector<report::Roofline> out;
  core::Progress progress;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string& name = all[i].config.model.name;
    progress.show(core::cat("network ", i + 1, " of ", all.size(), ": ", name),
                  static_cast<double>(i) / static_cast<double>(all.size()), /*force=*/true);
    try {
      out.push_back(measure(all[i], device, limits, repeats));
    } catch (const c10::Error& error) {  // out of memory, above all
      if (all.size() == 1) throw;
      core::log_warning(core::cat(name, ": left out: ", error.what_without_backtrace()));
    }
    device::empty_cache(device);
  }
  if (out.empty()) throw Error("bench --roofline: no network could be measured");
  return out;
}

}  // namespace adagp::experiment
