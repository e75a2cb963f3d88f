#include "adagp/engine/step/step_timer.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/base/core/progress.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/gpu/device/event_timer.h"

namespace adagp::step {
namespace {

constexpr double kPlainLines = 5;  // seconds between two lines of progress where no bar is drawn

// On a GPU the graph's warm-up, its recording, one replay; on a CPU the first step of its shape.
int warm_ups(const at::Device& device) {
  return device.is_cuda() ? 4 : 1;
}

Timing summary_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

}  // namespace

Session throw_away_session(const config::RunConfig& config, const task::TaskPtr& task,
                           const task::NetMaker& make_net, bool with_predictor) {
  Session s = make_session(config, task, make_net());
  s.set_lr(1e-6);
  s.net->train();
  if (with_predictor) {
    add_summaries(s);
    add_predictor(s, 1000);
    s.predictor->advance(0);
  }
  return s;
}

bool time_steps(Session& s, const data::Batch& batch, std::vector<TimedStep>& kinds, int repeats) {
  core::Progress progress(kPlainLines);
  const int first = warm_ups(s.device), rounds = first + repeats;
  size_t begun = 0;
  const auto run = [&](TimedStep& kind) {
    const size_t all = static_cast<size_t>(rounds) * kinds.size();
    ++begun;
    progress.show(core::cat("timing steps: ", begun, " of ", all, " (", kind.name, ")"),
                  static_cast<double>(begun) / static_cast<double>(all));
    kind.graph.run(s, batch, kind.step);
  };
  for (int i = 0; i < first; ++i) {
    for (TimedStep& kind : kinds) run(kind);
  }
  device::EventTimer marks(s.device);
  marks.add();
  for (int i = 0; i < repeats; ++i) {
    for (TimedStep& kind : kinds) {
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
  const device::AutocastScope autocast(s.device, s.bf16);
  StepResult result;
  result.outputs = s.net->run(batch.inputs);
  return result;
}

StepResult evaluation_forward(Session& s, const data::Batch& batch) {
  s.net->eval();
  StepResult result = forward_alone(s, batch);
  s.net->train();
  return result;
}

double measure_exact_step(const config::RunConfig& config, const task::TaskPtr& task,
                          const task::NetMaker& make_net, const data::Batch& batch, int repeats) {
  Session s = throw_away_session(config, task, make_net, false);
  Timing out;
  std::vector<TimedStep> kinds;
  kinds.push_back({"bp", [&](const data::Batch& b) { return backprop_step(s, b); }, &out});
  kinds.back().graph = StepGraph("bp", config.graphs);
  time_steps(s, batch, kinds, repeats);
  return out.median;
}

}  // namespace adagp::step
