#include "adagp/lab/experiment/step_times.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/engine/data/stream/resident.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/predicted_step.h"
#include "adagp/gpu/device/graph.h"
#include "adagp/gpu/device/kernels.h"

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

// forward, gp, bp, bp-train.
std::vector<step::TimedStep> main_steps(step::Session& s, method::Method& adagp, StepTimes& out) {
  using data::Batch;
  std::vector<step::TimedStep> steps;
  steps.push_back({"forward", [&s](const Batch& b) { return step::forward_alone(s, b); },
                   &out.forward, &out.peak.forward});
  steps.push_back({"gp", [&s, &adagp](const Batch& b) { return adagp.cheap_step(s, b); }, &out.gp,
                   &out.peak.gp});
  steps.push_back(
      {"bp", [&s](const Batch& b) { return step::backprop_step(s, b); }, &out.bp, &out.peak.bp});
  steps.push_back({"bp-train",
                   [&s, &adagp](const Batch& b) { return adagp.exact_step(s, b, nullptr); },
                   &out.bp_train});
  return steps;
}

// The rounds of a step on a CPU.
std::vector<StepKinds> kinds_on_cpu(const step::TimedStep& step, const data::Batch& batch,
                                    int repeats) {
  std::vector<StepKinds> out;
  step.step(batch);  // memory, choice of algorithms
  for (int i = 0; i < repeats; ++i) {
    KindTimer timer;
    timer.start();
    step.step(batch);
    timer.stop();
    out.push_back({0, timer.seconds()});
    for (const double seconds : out.back().kinds) out.back().whole += seconds;
  }
  return out;
}

// Of a step that is recorded with the marks between its kernels, and replayed. The marks keep
// kernels from overlapping, so `whole` is a little more than the step takes without them.
std::vector<StepKinds> kinds_on_gpu(step::Session& s, const step::TimedStep& step,
                                    const data::Batch& batch, int repeats) {
  constexpr int kWarmUps = 2;  // as StepGraph's
  for (int i = 0; i < kWarmUps; ++i) step.step(batch);
  KindTimer timer(s.device);
  device::Graph graph;
  graph.capture(s.device, [&] {
    timer.start();
    step.step(batch);
    timer.stop();
  });
  std::vector<StepKinds> out;
  for (int i = 0; i < repeats; ++i) {
    graph.replay();
    out.push_back({0, timer.seconds()});
    for (const double seconds : out.back().kinds) out.back().whole += seconds;
  }
  return out;
}

step::Session timed_session(const config::RunConfig& config, const task::TaskPtr& task) {
  return step::throw_away_session(config, task, task::throw_away_nets(config, task), true);
}

}  // namespace

bool times_method(const config::RunConfig& config) {
  return config.method != "bp" && config.method != "adagp" &&
         !method::find_method(config.method).mixes;
}

StepTimes measure_steps(const config::RunConfig& config, const task::TaskPtr& task,
                        const data::Batch& batch, int repeats,
                        const std::vector<std::string>& only) {
  step::Session s = timed_session(config, task);
  auto adagp = method::find_method("adagp").make(s);
  StepTimes out;
  std::vector<step::TimedStep> all = main_steps(s, *adagp, out);
  using data::Batch;
  all.push_back(
      {"eval", [&](const Batch& b) { return step::evaluation_forward(s, b); }, &out.eval});
  // A predictor that looks at activations has no work without a forward pass.
  if (!s.activations) {
    all.push_back({"predict",
                   [&](const Batch&) { return step::blind_step(s, step::predicted_gradients); },
                   &out.predict});
  }
  const auto wanted = [&](const std::string& kind) {
    return only.empty() || std::find(only.begin(), only.end(), kind) != only.end();
  };
  std::vector<step::TimedStep> kinds;
  for (step::TimedStep& kind : all) {
    kind.graph = step::StepGraph(kind.name, config.graphs);
    if (wanted(kind.name)) kinds.push_back(std::move(kind));
  }
  measure_peaks(s, batch, kinds);
  // A network of its own: a method may hold graphs over weights that the other steps would move.
  std::unique_ptr<step::Session> apart;
  std::unique_ptr<method::Method> own;
  if (times_method(config) && wanted("method")) {
    apart = std::make_unique<step::Session>(timed_session(config, task));
    own = method::find_method(config.method).make(*apart);
    const bool recorded = config.graphs && own->traits().recordable;
    kinds.push_back({"method", [&](const Batch& b) { return own->exact_step(*apart, b, nullptr); },
                     &out.method, nullptr, step::StepGraph("method", recorded)});
  }
  out.graphs = step::time_steps(s, batch, kinds, repeats);
  if (!only.empty()) return out;
  out.update = time_update(s, batch, repeats);
  const bool images = task->kind() == models::TaskKind::kClassification;
  if (images && device::has_kernels(s.device)) out.data = time_data(s, batch, repeats);
  return out;
}

std::map<std::string, StepKinds> measure_kinds(const config::RunConfig& config,
                                               const task::TaskPtr& task, const data::Batch& batch,
                                               int repeats) {
  step::Session s = timed_session(config, task);
  auto adagp = method::find_method("adagp").make(s);
  StepTimes unused;
  std::map<std::string, StepKinds> out;
  for (const step::TimedStep& kind : main_steps(s, *adagp, unused)) {
    auto rounds = s.device.is_cpu() ? kinds_on_cpu(kind, batch, repeats)
                                    : kinds_on_gpu(s, kind, batch, repeats);
    const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
    std::nth_element(rounds.begin(), middle, rounds.end(),
                     [](const StepKinds& a, const StepKinds& b) { return a.whole < b.whole; });
    out[kind.name] = *middle;
  }
  return out;
}

}  // namespace adagp::experiment
