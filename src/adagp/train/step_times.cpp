#include "adagp/train/step_times.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include <ATen/ATen.h>

#include "adagp/core/progress.h"
#include "adagp/core/text.h"
#include "adagp/data/resident.h"
#include "adagp/device/kernels.h"
#include "adagp/device/marks.h"
#include "adagp/train/bp_step.h"
#include "adagp/train/build.h"
#include "adagp/train/methods.h"
#include "adagp/train/precision.h"
#include "adagp/train/step_graph.h"

namespace adagp::train {
namespace {

constexpr double kPlainLines = 5;  // seconds between two lines of progress where no bar is drawn

// On a GPU the graph's warm-up, its recording, one replay; on a CPU the first step of its shape.
int warm_ups(const at::Device& device) {
  return device.is_cuda() ? 4 : 1;
}

// A session that trains with a tiny learning rate: the work is real, the weights stay sane.
Session throw_away(const Config& config, const TaskPtr& task, const NetMaker& make_net,
                   bool with_predictor) {
  Session s = make_session(config, task, make_net());
  s.set_lr(1e-6);
  s.net->train();
  if (with_predictor) {
    add_summaries(s);
    add_predictor(s, 1000);
    s.predictor->advance();
  }
  return s;
}

struct Kind {
  std::string name;
  StepGraph::Step step;
  Timing* timing;
  double* peak = nullptr;
  StepGraph graph = StepGraph();
};

Timing summary_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

// Peak memory of a step as it is: recorded steps share their memory with others.
void measure_peaks(Session& s, const data::Batch& batch, std::vector<Kind>& kinds) {
  for (Kind& kind : kinds) {
    if (kind.peak == nullptr || !s.device.is_cuda()) continue;
    kind.step(batch);
    device::synchronise(s.device);
    device::reset_peak(s.device);
    kind.step(batch);
    *kind.peak = static_cast<double>(device::memory(s.device).peak);
  }
}

// Interleaved; on a GPU all are queued before anything is waited for, so that it never idles.
bool time_all(Session& s, const data::Batch& batch, std::vector<Kind>& kinds, int repeats) {
  core::Progress progress(kPlainLines);
  const int first = warm_ups(s.device), rounds = first + repeats;
  size_t begun = 0;
  const auto run = [&](Kind& kind) {
    const size_t all = static_cast<size_t>(rounds) * kinds.size();
    ++begun;
    progress.show(core::cat("timing steps: ", begun, " of ", all, " (", kind.name, ")"),
                  static_cast<double>(begun) / static_cast<double>(all));
    kind.graph.run(s, batch, kind.step);
  };
  for (int i = 0; i < first; ++i) {
    for (Kind& kind : kinds) run(kind);
  }
  device::Marks marks(s.device);
  marks.add();
  for (int i = 0; i < repeats; ++i) {
    for (Kind& kind : kinds) {
      run(kind);
      marks.add();
    }
  }
  const std::vector<double> seconds = marks.seconds();
  bool replayed = true;
  for (size_t k = 0; k < kinds.size(); ++k) {
    std::vector<double> own;
    for (size_t i = k; i < seconds.size(); i += kinds.size()) own.push_back(seconds[i]);
    *kinds[k].timing = summary_of(std::move(own));
    replayed = replayed && kinds[k].graph.state() == StepGraph::State::kReplay;
  }
  return replayed;
}

StepResult forward_alone(Session& s, const data::Batch& batch) {
  const at::NoGradGuard no_grad;
  const AutocastScope autocast(s.device, s.bf16());
  StepResult result;
  result.outputs = s.net->run(batch.inputs);
  return result;
}

StepResult evaluation(Session& s, const data::Batch& batch) {
  s.net->eval();
  StepResult result = forward_alone(s, batch);
  s.net->train();
  return result;
}

// With gradients in place, which the step leaves there.
Timing time_update(Session& s, const data::Batch& batch, int repeats) {
  Timing out;
  backprop(s, batch);
  std::vector<Kind> kinds;
  kinds.push_back({"optimizer",
                   [&](const data::Batch&) {
                     s.optimizer->step();
                     return StepResult();
                   },
                   &out, nullptr, StepGraph("optimizer", s.config.graphs)});
  time_all(s, batch, kinds, repeats);
  s.optimizer->clear_gradients();
  return out;
}

// Batches from random images on the GPU.
Timing time_data(Session& s, const data::Batch& batch, int repeats) {
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
  Timing out;
  std::vector<Kind> kinds;
  kinds.push_back({"data",
                   [&](const data::Batch&) {
                     at::Tensor made, labelled;
                     source.make(0, 0, batch.size(), order, made, labelled);
                     return StepResult();
                   },
                   &out, nullptr, StepGraph("data", false)});
  time_all(s, batch, kinds, repeats);
  return out;
}

}  // namespace

NetMaker throw_away_nets(const Config& config, const TaskPtr& task) {
  Config fresh = config;
  fresh.weights.clear();
  return [fresh, task] { return build_net(fresh, *task); };
}

StepTimes measure_steps(const Config& config, const TaskPtr& task, const data::Batch& batch,
                        int repeats, const std::vector<std::string>& only) {
  Session s = throw_away(config, task, throw_away_nets(config, task), true);
  auto adagp = find_method("adagp").make(s);
  StepTimes out;
  std::vector<Kind> all;
  using data::Batch;
  all.push_back({"forward", [&](const Batch& b) { return forward_alone(s, b); }, &out.forward,
                 &out.peak.forward});
  all.push_back(
      {"gp", [&](const Batch& b) { return adagp->cheap_step(s, b); }, &out.gp, &out.peak.gp});
  all.push_back({"bp", [&](const Batch& b) { return bp_step(s, b); }, &out.bp, &out.peak.bp});
  all.push_back({"bp-train", [&](const Batch& b) { return adagp->exact_step(s, b, nullptr); },
                 &out.bp_train});
  all.push_back({"eval", [&](const Batch& b) { return evaluation(s, b); }, &out.eval});
  // A predictor that looks at activations has no work without a forward pass.
  if (!s.activations) {
    all.push_back({"predict", [&](const Batch&) { return blind_step(s, predicted_gradients); },
                   &out.predict});
  }
  std::vector<Kind> kinds;
  for (Kind& kind : all) {
    kind.graph = StepGraph(kind.name, config.graphs);
    const bool wanted =
        only.empty() || std::find(only.begin(), only.end(), kind.name) != only.end();
    if (wanted) kinds.push_back(std::move(kind));
  }
  measure_peaks(s, batch, kinds);
  out.graphs = time_all(s, batch, kinds, repeats);
  if (!only.empty()) return out;
  out.update = time_update(s, batch, repeats);
  const bool images = task->kind() == models::TaskKind::kClassification;
  if (images && device::kernels(s.device)) out.data = time_data(s, batch, repeats);
  return out;
}

namespace {

// The steps of every shape that a method's batches have, so that cuDNN's trials are behind it.
void warm_up_shapes(Session& s, const std::string& name) {
  const MethodEntry entry = find_method(name);
  if (entry.cheap == Cheap::kDecided) {
    for (const std::string& step : s.config.automatic.steps) warm_up_shapes(s, step);
    return;
  }
  if (entry.predicts) {
    for (int i = 0; i < 2; ++i) bp_step(s, s.task->example(s.config, s.config.batch, s.device));
    return;
  }
  if (entry.cheap != Cheap::kNone && !s.summaries) add_summaries(s);
  const auto method = entry.make(s);
  std::set<std::pair<schedule::Phase, std::vector<int64_t>>> done;
  std::vector<int64_t> epochs = method->turns(s.config.epochs);
  epochs.push_back(0);
  for (const int64_t epoch : epochs) {
    if (epoch >= s.config.epochs) continue;
    for (const auto phase : {schedule::Phase::kBackprop, schedule::Phase::kPredict}) {
      const bool cheap = phase == schedule::Phase::kPredict;
      if (cheap && entry.cheap == Cheap::kNone) continue;
      const Moment moment{epoch, s.config.epochs, phase};
      const auto shown = [&] {
        return method->shown(s.task->example(s.config, method->batch_size(s, moment), s.device),
                             moment);
      };
      s.first_block = method->frozen_blocks(moment);
      std::vector<int64_t> key = shown().inputs[0].sizes().vec();
      key.push_back(s.first_block);
      if (!done.insert({phase, key}).second) continue;
      for (int i = 0; i < 2; ++i) {
        cheap ? method->cheap_step(s, shown()) : method->exact_step(s, shown(), nullptr);
      }
    }
  }
  s.first_block = 0;
}

}  // namespace

void warm_up(const Config& config, const TaskPtr& task, const NetMaker& make_net, bool known) {
  const at::Device device = choose_device(config.device);
  if (!device.is_cuda() || config.deterministic) return;
  static std::mutex mutex;
  static std::set<std::string> done;
  const std::string key = core::cat(
      device.str(), " ", config.model.name, " ", config.model.form, " ", config.model.classes, " ",
      config.model.width_divisor, " ", task->input_name(config), " ", config.batch, " ",
      config.eval_batch, " ", config.precision, " ", config.accumulate, " ", config.method, " ",
      at::IntArrayRef(config.low_res.sizes), " ", config.low_res.scale_batch, " ",
      config.selective.share);
  if (known) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!done.insert(key).second) return;
  }
  Session s = throw_away(config, task, make_net, false);
  const auto examples = [&](int64_t count) { return task->example(config, count, device); };
  try {
    warm_up_shapes(s, config.method);
  } catch (const c10::OutOfMemoryError&) {
    // The trainer's own step will say what does not fit, and what would.
    s.optimizer->clear_gradients();
    device::empty_cache(device);
    return;
  }
  forward_alone(s, examples(config.batch));
  evaluation(s, examples(std::min<int64_t>(config.eval_batch, task->test_size())));
  device::synchronise(device);
}

double measure_bp(const Config& config, const TaskPtr& task, const NetMaker& make_net,
                  const data::Batch& batch, int repeats) {
  Session s = throw_away(config, task, make_net, false);
  Timing out;
  std::vector<Kind> kinds;
  kinds.push_back({"bp", [&](const data::Batch& b) { return bp_step(s, b); }, &out});
  kinds.back().graph = StepGraph("bp", config.graphs);
  time_all(s, batch, kinds, repeats);
  return out.median;
}

}  // namespace adagp::train
