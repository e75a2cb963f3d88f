#include "adagp/engine/train/build.h"

#include <cstdlib>
#include <optional>

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/threads.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/run/precision.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/step/generators.h"
#include "adagp/engine/task/network.h"
#include "adagp/engine/train/trainer.h"
#include "adagp/engine/train/warm_up.h"
#include "adagp/gpu/device/choose_device.h"

namespace adagp::train {
void check_names(const config::RunConfig& config) {
  validate(config);
  method::find_method(config.method);
  models::find(config.model.name);
  predictor::check(config.predictor);
}

void set_threads(const config::RunConfig& config) {
  core::check_thread_count("threads", config.threads);
  at::set_num_threads(
      static_cast<int>(config.threads > 0 ? config.threads : core::hardware_threads()));
}

namespace {

// Before the budget of equal-time is measured, which trains.
void check_weights_files(const config::RunConfig& config) {
  for (const std::string& file : {config.weights, config.model.backbone_weights}) {
    std::error_code error;
    if (file.empty() || core::fs::exists(file, error)) continue;
    throw DataError(core::cat(file,
                              ": cannot be opened: ", error ? error.message() : "no such file",
                              "; expected a weights file"));
  }
}

// The caller's network, each time with the values and the random numbers it came with.
task::NetMaker as_it_came(std::shared_ptr<models::Net> net, const at::Device& device) {
  io::TensorMap values = run::state_dict(*net);
  for (auto& [name, value] : values) value = value.clone();
  return [net = std::move(net), values = std::move(values),
          random = step::generator_state(step::SoloTeam(), device), device] {
    run::load_state_dict(*net, values, "the network");
    step::load_generator_state(step::SoloTeam(), device, random);
    for (const at::Tensor& parameter : net->parameters()) parameter.mutable_grad().reset();
    return net;
  };
}

// The budget is measured and a GPU's libraries choose their algorithms before the clock starts.
report::Summary run_in(run::RunFolder& run, config::RunConfig& config, const task::TaskPtr& task,
                       const task::NetMaker& for_measuring, const task::NetMaker& for_training,
                       bool known) {
  method::fix_length(config, task, for_measuring);
  warm_up(config, task, for_measuring, known);
  return Trainer(config, task, for_training()).run(run);
}

}  // namespace

report::Summary train(config::RunConfig config, const core::fs::path& folder, bool overwrite) {
  check_names(config);
  return train(config, task::open_task(config), folder, overwrite);
}

report::Summary train(config::RunConfig config, const task::TaskPtr& task,
                      const core::fs::path& folder, bool overwrite) {
  check_names(config);
  validate_alone(config);
  set_threads(config);
  task->resolve(config);
  run::RunFolder run(folder, config, overwrite);
  if (run.finished()) return run.summary();
  check_weights_files(config);
  return run_in(
      run, config, task, task::throw_away_nets(config, task),
      [&] { return task::build_net(config, *task); }, true);
}

report::Summary train_together(config::RunConfig config, const core::fs::path& folder,
                               bool overwrite, const step::TeamMaker& make_team) {
  check_names(config);
  if (method::find_method(config.method).length) {
    throw UsageError("method " + config.method +
                     " measures one process; run it without --parallel, or use bp with fewer "
                     "epochs");
  }
  // A launcher tells the processes of one machine how many threads each may have.
  if (config.threads > 0 || std::getenv("OMP_NUM_THREADS") == nullptr) set_threads(config);
  const task::TaskPtr task = task::open_task(config);
  task->resolve(config);
  run::resolve_precision(config);
  const auto team = make_team(config, *task, task::build_shapes(config, *task));
  if (team->stages_apart() && !method::find_method(config.method).stages_apart) {
    throw UsageError(
        "--parallel pipeline=decoupled needs a method whose parts learn separately, "
        "and method " +
        config.method + " is none; use pipeline=gpipe, or another method");
  }
  try {
    const auto net =
        task::build_part(config, *task, [&](const std::string& name) { return team->owns(name); });
    team->compare_weights(*net);
    // Every process drops out other features. The first draws what a process alone would.
    if (!team->leads()) {
      at::manual_seed(
          core::mix({static_cast<uint64_t>(config.seed), static_cast<uint64_t>(team->rank())}));
    }
    std::optional<run::RunFolder> run;
    if (team->leads()) run.emplace(folder, config, overwrite);
    const bool finished = team->spread(run && run->finished() ? "finished" : "") == "finished";
    if (finished) return run ? run->summary() : report::Summary();
    report::Summary summary = Trainer(config, task, net, team).run(run ? &*run : nullptr);
    if (const std::string sent = team->traffic(); team->leads() && !sent.empty()) {
      core::log_info(sent);
    }
    if (const std::string held = team->memory(); team->leads() && !held.empty()) {
      core::log_info(held);
    }
    return summary;
  } catch (const std::exception& error) {
    team->fail(core::split(error.what(), '\n').front());  // torch adds its stack
    throw;
  }
}

report::Summary train(config::RunConfig config, const task::TaskPtr& task,
                      std::shared_ptr<models::Net> net, const core::fs::path& folder,
                      bool overwrite) {
  validate(config);
  method::find_method(config.method);
  predictor::check(config.predictor);
  validate_alone(config);
  set_threads(config);
  task->resolve(config);
  run::RunFolder run(folder, config, overwrite);
  if (run.finished()) return run.summary();
  const at::Device device = device::choose_device(config.device);
  if (!device.is_cuda() &&
      !method::find_method(config.method).length) {  // nothing is measured before
    return Trainer(config, task, std::move(net)).run(run);
  }
  const task::NetMaker own = as_it_came(std::move(net), device);
  return run_in(run, config, task, own, own, false);
}

}  // namespace adagp::train
