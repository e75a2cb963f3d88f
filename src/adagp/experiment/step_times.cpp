#include "adagp/experiment/step_times.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/data/stream/resident.h"
#include "adagp/device/kernels.h"
#include "adagp/method/table.h"
#include "adagp/step/exact_step.h"
#include "adagp/step/predicted_step.h"

namespace adagp::experiment {
namespace {

// Peak memory of a step as it is: recorded steps share their memory with others.
void measure_peaks(step::Session& s, const data::Batch& batch,
                   std::vector<step::TimedStep>& kinds) {
  for (step::TimedStep& kind : kinds) {
    if (kind.peak == nullptr || !s.device.is_cuda()) continue;
    kind.step(batch);
    device::synchronise(s.device);
    device::reset_peak(s.device);
    kind.step(batch);
    *kind.peak = static_cast<double>(device::memory(s.device).peak);
  }
}

// With gradients in place, which the step leaves there.
step::Timing time_update(step::Session& s, const data::Batch& batch, int repeats) {
  step::Timing out;
  backprop(s, batch);
  std::vector<step::TimedStep> kinds;
  kinds.push_back({"optimizer",
                   [&](const data::Batch&) {
                     s.optimizer->step();
                     return step::StepResult();
                   },
                   &out, nullptr, step::StepGraph("optimizer", s.config.graphs)});
  step::time_steps(s, batch, kinds, repeats);
  s.optimizer->clear_gradients();
  return out;
}

// Batches from random images on the GPU.
step::Timing time_data(step::Session& s, const data::Batch& batch, int repeats) {
  const int64_t count = 4 * batch.size();
  data::AugmentOptions options;
  options.height = batch.images().size(2);
  options.width = batch.images().size(3);
  const at::Tensor images = at::randint(256, {count, options.height, options.width, 3},
                                        at::TensorOptions(s.device).dtype(at::kByte));
  const std::vector<int64_t> labels(static_cast<size_t>(count));
  data::ResidentBatches source(images, labels, options, 0, batch.images().scalar_type());
  const auto order = [count](int64_t) {
    std::vector<int64_t> all(static_cast<size_t>(count));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    return all;
  };
  step::Timing out;
  std::vector<step::TimedStep> kinds;
  kinds.push_back({"data",
                   [&](const data::Batch&) {
                     at::Tensor made, labelled;
                     source.make(0, 0, batch.size(), order, made, labelled);
                     return step::StepResult();
                   },
                   &out, nullptr, step::StepGraph("data", false)});
  step::time_steps(s, batch, kinds, repeats);
  return out;
}

}  // namespace

StepTimes measure_steps(const config::RunConfig& config, const task::TaskPtr& task,
                        const data::Batch& batch, int repeats,
                        const std::vector<std::string>& only) {
  step::Session s =
      step::throw_away_session(config, task, task::throw_away_nets(config, task), true);
  auto adagp = method::find_method("adagp").make(s);
  StepTimes out;
  std::vector<step::TimedStep> all;
  using data::Batch;
  all.push_back({"forward", [&](const Batch& b) { return step::forward_alone(s, b); }, &out.forward,
                 &out.peak.forward});
  all.push_back(
      {"gp", [&](const Batch& b) { return adagp->cheap_step(s, b); }, &out.gp, &out.peak.gp});
  all.push_back(
      {"bp", [&](const Batch& b) { return step::backprop_step(s, b); }, &out.bp, &out.peak.bp});
  all.push_back({"bp-train", [&](const Batch& b) { return adagp->exact_step(s, b, nullptr); },
                 &out.bp_train});
  all.push_back(
      {"eval", [&](const Batch& b) { return step::evaluation_forward(s, b); }, &out.eval});
  // A predictor that looks at activations has no work without a forward pass.
  if (!s.activations) {
    all.push_back({"predict",
                   [&](const Batch&) { return step::blind_step(s, step::predicted_gradients); },
                   &out.predict});
  }
  std::vector<step::TimedStep> kinds;
  for (step::TimedStep& kind : all) {
    kind.graph = step::StepGraph(kind.name, config.graphs);
    const bool wanted =
        only.empty() || std::find(only.begin(), only.end(), kind.name) != only.end();
    if (wanted) kinds.push_back(std::move(kind));
  }
  measure_peaks(s, batch, kinds);
  out.graphs = step::time_steps(s, batch, kinds, repeats);
  if (!only.empty()) return out;
  out.update = time_update(s, batch, repeats);
  const bool images = task->kind() == models::TaskKind::kClassification;
  if (images && device::has_kernels(s.device)) out.data = time_data(s, batch, repeats);
  return out;
}

}  // namespace adagp::experiment
