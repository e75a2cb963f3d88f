#include "adagp/train/build.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "adagp/core/error.h"
#include "adagp/core/log_once.h"
#include "adagp/core/text.h"
#include "adagp/train/equal_time.h"
#include "adagp/train/generators.h"
#include "adagp/train/methods.h"
#include "adagp/train/precision.h"
#include "adagp/train/step_times.h"
#include "adagp/train/trainer.h"
#include "adagp/train/weights.h"
#include "adagp/train/weights_settings.h"

namespace adagp::train {
void check_names(const Config& config) {
  validate(config);
  find_method(config.method);
  models::find(config.model.name);
  predictor::check(config.predictor);
}

void set_threads(const Config& config) {
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  at::set_num_threads(static_cast<int>(config.threads > 0 ? config.threads : cores));
}

std::shared_ptr<models::Net> build_net(const Config& config, const Task& task) {
  at::manual_seed(static_cast<uint64_t>(config.seed));
  auto net = models::build(config.model.name, task.model_options(config));
  if (!config.weights.empty()) {
    const io::TensorFile file = io::load_tensors(config.weights);
    task.check(file.metadata, config.weights);
    const auto kept = load_all_but_other_heads(*net, file.tensors, config.weights);
    if (!kept.empty()) {
      core::warn_once(core::cat(config.weights,
                                ": made for another number of classes: all is loaded but ",
                                core::join(kept, ", "), "; the new head is initialised at random"));
    }
    compare_image_sizes(file.metadata, config.weights, config, task);
  }
  return net;
}

namespace {

// The caller's network, each time with the values and the random numbers it came with.
NetMaker as_it_came(std::shared_ptr<models::Net> net, const at::Device& device) {
  io::TensorMap values = state_dict(*net);
  for (auto& [name, value] : values) value = value.clone();
  return [net = std::move(net), values = std::move(values),
          random = generator_state(nullptr, device), device] {
    load_state_dict(*net, values, "the network");
    load_generator_state(nullptr, device, random);
    for (const at::Tensor& parameter : net->parameters()) parameter.mutable_grad().reset();
    return net;
  };
}

// The budget is measured and a GPU's libraries choose their algorithms before the clock starts.
Summary run_in(RunFolder& run, Config& config, const TaskPtr& task, const NetMaker& for_measuring,
               const NetMaker& for_training, bool known) {
  fix_budget(config, task, for_measuring);
  warm_up(config, task, for_measuring, known);
  return Trainer(config, task, for_training()).run(run);
}

}  // namespace

Summary train(Config config, const core::fs::path& folder, bool overwrite) {
  check_names(config);
  return train(config, open_task(config), folder, overwrite);
}

Summary train(Config config, const TaskPtr& task, const core::fs::path& folder, bool overwrite) {
  check_names(config);
  set_threads(config);
  task->resolve(config);
  RunFolder run(folder, config, overwrite);
  if (run.finished()) return run.summary();
  return run_in(
      run, config, task, throw_away_nets(config, task), [&] { return build_net(config, *task); },
      true);
}

Summary train_together(Config config, const core::fs::path& folder, bool overwrite,
                       const TeamMaker& make_team) {
  check_names(config);
  if (config.method == "equal-time") {
    throw UsageError(
        "method equal-time measures one process; run it without --parallel, or use bp with fewer "
        "epochs");
  }
  // A launcher tells the processes of one machine how many threads each may have.
  if (config.threads > 0 || std::getenv("OMP_NUM_THREADS") == nullptr) set_threads(config);
  const TaskPtr task = open_task(config);
  task->resolve(config);
  resolve_precision(config);
  const auto net = build_net(config, *task);
  const auto team = make_team(config, *task, net);
  try {
    std::optional<RunFolder> run;
    if (team->leads()) run.emplace(folder, config, overwrite);
    const bool finished = team->spread(run && run->finished() ? "finished" : "") == "finished";
    if (finished) return run ? run->summary() : Summary();
    return Trainer(config, task, net, team).run(run ? &*run : nullptr);
  } catch (const std::exception& error) {
    team->fail(core::split(error.what(), '\n').front());  // torch adds its stack
    throw;
  }
}

Summary train(Config config, const TaskPtr& task, std::shared_ptr<models::Net> net,
              const core::fs::path& folder, bool overwrite) {
  validate(config);
  find_method(config.method);
  predictor::check(config.predictor);
  set_threads(config);
  task->resolve(config);
  RunFolder run(folder, config, overwrite);
  if (run.finished()) return run.summary();
  const at::Device device = choose_device(config.device);
  if (!device.is_cuda() && config.method != "equal-time") {  // nothing is measured before
    return Trainer(config, task, std::move(net)).run(run);
  }
  const NetMaker own = as_it_came(std::move(net), device);
  return run_in(run, config, task, own, own, false);
}

}  // namespace adagp::train
