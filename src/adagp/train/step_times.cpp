#include "adagp/train/step_times.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <torch/cuda.h>

#include "adagp/metrics/timer.h"
#include "adagp/train/bp_step.h"
#include "adagp/train/build.h"
#include "adagp/train/methods.h"
#include "adagp/train/precision.h"

namespace adagp::train {
namespace {

constexpr int kWarmUp = 3;

double timed(const Session& s, const std::function<void()>& work) {
  const metrics::Stopwatch watch;
  work();
  if (s.device.is_cuda()) torch::cuda::synchronize(s.device.index());
  return watch.seconds();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// A session that trains with a tiny learning rate: the work is real, the weights stay sane.
Session throw_away(const Config& config, bool with_predictor) {
  Session s = make_session(config, build_net(config));
  s.lr = 1e-6;
  s.net->train();
  if (with_predictor) {
    add_summaries(s);
    add_predictor(s, 1000);
  }
  return s;
}

std::vector<double> medians(const Session& s, const std::vector<std::function<void()>>& steps,
                            int repeats) {
  std::vector<std::vector<double>> seconds(steps.size());
  for (int round = -kWarmUp; round < repeats; ++round) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const double took = timed(s, steps[i]);
      if (round >= 0) seconds[i].push_back(took);
    }
  }
  std::vector<double> out;
  for (auto& values : seconds) out.push_back(median(std::move(values)));
  return out;
}

}  // namespace

StepTimes measure_steps(const Config& config, const data::Batch& batch, int repeats,
                        const std::string& only) {
  Session s = throw_away(config, true);
  auto adagp = find_method("adagp").make(s);
  StepTimes out;
  const auto forward = [&] {
    const at::NoGradGuard no_grad;
    const AutocastScope autocast(s.device, s.bf16());
    s.net->forward(batch.images);
  };
  struct Kind {
    std::string name;
    std::function<void()> step;
    double* seconds;
  };
  const std::vector<Kind> kinds{
      {"forward", forward, &out.forward},
      {"bp", [&] { bp_step(s, batch); }, &out.bp},
      {"bp-observe", [&] { adagp->full_step(s, batch, nullptr, 0); }, &out.bp_observe},
      {"gp", [&] { adagp->cheap_step(s, batch); }, &out.gp},
  };
  std::vector<std::function<void()>> steps;
  std::vector<double*> seconds;
  for (const auto& kind : kinds) {
    if (!only.empty() && only != kind.name) continue;
    steps.push_back(kind.step);
    seconds.push_back(kind.seconds);
  }
  const auto found = medians(s, steps, repeats);
  for (size_t i = 0; i < found.size(); ++i) *seconds[i] = found[i];
  return out;
}

double measure_bp(const Config& config, const data::Batch& batch, int repeats) {
  Session s = throw_away(config, false);
  return medians(s, {[&] { bp_step(s, batch); }}, repeats)[0];
}

}  // namespace adagp::train
