// Seconds of each kind of step, and of the pieces of a GP step. `adagp bench` interleaves the steps
// and prints ratios; here they stand one by one, for profiling and for watching one of them.
//
//   adagp_bench --benchmark_filter=vgg13_bn
//
// vgg13_bn in CIFAR form at batch 256 is the case of docs/results/2026-11-15-cpu-steps.md.

#include <benchmark/benchmark.h>

#include <ATen/ATen.h>

#include "adagp/engine/method/table.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/predicted_step.h"
#include "adagp/engine/task/classification.h"
#include "adagp/engine/train/build.h"

namespace {

using adagp::config::RunConfig;
using adagp::step::Session;

struct Bench {
  Session session;
  std::unique_ptr<adagp::method::Method> method;
  adagp::data::Batch batch;
};

// Built once per model and batch; benchmarks of one model share it.
Bench& bench_for(const std::string& model, int64_t batch) {
  static std::map<std::string, Bench> cache;
  const std::string key = model + "/" + std::to_string(batch);
  const auto found = cache.find(key);
  if (found != cache.end()) return found->second;
  RunConfig config;
  config.model.name = model;
  config.model.form = "cifar";
  config.model.classes = 10;
  config.batch = batch;
  adagp::train::set_threads(config);
  Bench b;
  adagp::data::Splits splits;
  splits.height = splits.width = 32;
  splits.classes.resize(10);
  const auto task = adagp::task::classification(splits);
  b.session = adagp::step::make_session(config, task, build_net(config, *task));
  b.session.set_lr(1e-6);
  b.session.net->train();
  add_summaries(b.session);
  add_predictor(b.session, 1000);
  b.batch = task->example(config, batch, at::kCPU);
  Bench& made = cache[key] = std::move(b);
  made.method = adagp::method::find_method("adagp").make(made.session);
  return made;
}

void forward(benchmark::State& state, const std::string& model, int64_t batch) {
  Bench& b = bench_for(model, batch);
  const at::NoGradGuard no_grad;
  for (auto _ : state) b.session.net->run(b.batch.inputs);
}

void bp(benchmark::State& state, const std::string& model, int64_t batch) {
  Bench& b = bench_for(model, batch);
  for (auto _ : state) backprop_step(b.session, b.batch);
}

void bp_train(benchmark::State& state, const std::string& model, int64_t batch) {
  Bench& b = bench_for(model, batch);
  for (auto _ : state) b.method->full_step(b.session, b.batch);
}

void gp(benchmark::State& state, const std::string& model, int64_t batch) {
  Bench& b = bench_for(model, batch);
  for (auto _ : state) b.method->cheap_step(b.session, b.batch);
}

// The predictor and the update alone: what a GP step adds to the forward pass, less the taps.
void predict_apply(benchmark::State& state, const std::string& model, int64_t batch) {
  Bench& b = bench_for(model, batch);
  const at::NoGradGuard no_grad;
  for (auto _ : state) adagp::step::blind_step(b.session, adagp::step::predicted_gradients);
}

[[maybe_unused]] const bool registered = [] {
  const std::pair<const char*, int64_t> cases[] = {{"vgg8s", 128}, {"vgg13_bn", 256}};
  for (const auto& [model, size] : cases) {
    const std::string name = std::string(model) + "/b" + std::to_string(size) + "/";
    const auto add = [&, m = std::string(model), s = size](const char* what, auto run) {
      benchmark::RegisterBenchmark((name + what).c_str(),
                                   [run, m, s](benchmark::State& state) { run(state, m, s); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime()
          ->MinTime(2.0);
    };
    add("forward", forward);
    add("gp", gp);
    add("bp", bp);
    add("bp_train", bp_train);
    add("predict_apply", predict_apply);
  }
  return true;
}();

}  // namespace
