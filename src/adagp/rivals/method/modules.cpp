#include "adagp/rivals/method/modules.h"

#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/stages.h"
#include "adagp/engine/step/micro_batches.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/task/loss.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"
#include "adagp/teams/parallel/process_team.h"

namespace adagp::method {
namespace {

models::BlockNet& blocks_of(const step::Session& s) {
  auto* net = dynamic_cast<models::BlockNet*>(s.net.get());
  if (net != nullptr) return *net;
  throw UsageError("method modules needs a network made of blocks, and " + s.config.model.name +
                   " is none");
}

void check_processes(const step::Session& s) {
  auto* team = dynamic_cast<parallel::ProcessTeam*>(s.team.get());
  if (team == nullptr || !team->stages_apart()) {
    require_alone(s);
    return;
  }
  const int processes = team->pipe()->size();
  const std::string& signal = s.config.parts.get<rivals::ModulesOptions>().signal;
  if (signal != "delayed" && signal != "replay") {
    throw UsageError("modules.signal = " + signal +
                     " trains in one process; leave out --parallel, or use delayed or replay");
  }
  if (s.config.parts.get<rivals::ModulesOptions>().count != processes) {
    throw UsageError(
        core::cat("modules.count = ", s.config.parts.get<rivals::ModulesOptions>().count,
                  ", and pipeline=decoupled has ", processes,
                  " processes: every process has one module; give both the same "
                  "number"));
  }
}

}  // namespace

Modules::Modules(step::Session& s) {
  check_processes(s);
  if (s.kept_values() != nullptr) {
    throw UsageError(core::cat("edram.error = ", s.config.parts.get<rivals::EdramOptions>().error,
                               ": method modules keeps its graphs without errors; use 0"));
  }
  if (s.config.accumulate > 1) {
    throw UsageError(core::cat("accumulate = ", s.config.accumulate,
                               ": method modules takes batches as a whole; use accumulate = 1"));
  }
  models::BlockNet& net = blocks_of(s);
  if (models::has_frozen_blocks(net)) {
    throw UsageError("method modules: " + s.config.model.name +
                     " has frozen blocks, and a module of them alone has nothing to learn; use "
                     "method bp or adagp");
  }
  const std::string input = s.task->input_name(s.config);
  const auto uses = layers::trace_blocks(net, s.config.model.name, input);
  const int most = layers::most_stages(uses);
  if (s.config.parts.get<rivals::ModulesOptions>().count < 1 ||
      s.config.parts.get<rivals::ModulesOptions>().count > most) {
    throw UsageError(
        core::cat("modules.count = ", s.config.parts.get<rivals::ModulesOptions>().count,
                  ": expected 1 to ", most, ": ", s.config.model.name, " has ", most,
                  most == 1 ? " block" : " blocks", " with weights to cut between"));
  }
  const auto modules = static_cast<int>(s.config.parts.get<rivals::ModulesOptions>().count);
  const layers::Stages stages = layers::cut(net, s.config.model.name, input, modules);
  first_ = modules == 1 ? std::vector<size_t>{0, uses.size()} : stages.first;
  params_.resize(static_cast<size_t>(modules));
  for (size_t p = 0; p < s.optimizer->params().size(); ++p) {
    for (size_t m = 0; m < params_.size(); ++m) {
      if (stages.names[m].contains(s.optimizer->params()[p].name)) params_[m].push_back(p);
    }
  }
  for (size_t m = 0; !last(m); ++m) cuts_.push_back(uses.at(first_[m + 1] - 1).outputs.at(0));
}

models::Tensors Modules::run(step::Session& s, size_t module, const models::Tensors& inputs) const {
  const device::AutocastScope autocast(s.device, s.bf16);
  return blocks_of(s).run_part(inputs, first_[module], first_[module + 1]);
}

models::Tensors Modules::backward_at_once(step::Session& s, const data::Batch& batch,
                                          const Signal& signal, step::StepResult& result) const {
  models::Tensors crossed;
  models::Tensors x = batch.inputs;
  for (size_t m = 0; !last(m); ++m) {
    const models::Tensors made = run(s, m, x);
    torch::autograd::backward({made.at(0)}, {signal(m, made[0])});
    x = as_leaves(made);
    crossed.push_back(x[0]);
  }
  const models::Tensors made = run(s, count() - 1, x);
  const task::Loss loss = s.loss(made, batch, true);
  task::backward(loss, made, 1, batch.weights);
  result.targets = batch.targets;
  result.add(loss.value.detach(), 1);
  step::append(result.outputs, made);
  return crossed;
}

models::Tensors as_leaves(const models::Tensors& outputs) {
  models::Tensors leaves;
  for (const at::Tensor& output : outputs) {
    leaves.push_back(output.detach());
    if (output.requires_grad()) leaves.back().requires_grad_();
  }
  return leaves;
}

void require_classes(const step::Session& s) {
  if (s.task->kind() == models::TaskKind::kClassification) return;
  throw UsageError(
      core::cat("modules.signal = ", s.config.parts.get<rivals::ModulesOptions>().signal,
                " needs classes, and the task is ", models::task_name(s.task->kind()),
                "; use modules.signal = delayed"));
}

MethodEntry entries::modules() {
  const auto make = [](step::Session& s) {
    using Maker = std::unique_ptr<Method> (*)(step::Session&);
    constexpr std::pair<const char*, Maker> kSignals[] = {
        {"auxiliary", make_auxiliary}, {"delayed", make_delayed},     {"replay", make_replay},
        {"critic", make_critic},       {"synthetic", make_synthetic}, {"feedback", make_feedback}};
    return core::find_named(kSignals, s.config.parts.get<rivals::ModulesOptions>().signal,
                            "modules.signal: unknown signal")
        .second(s);
  };
  return {.name = "modules",
          .about = "parts of the network learn from signals of their own, or from older gradients",
          .standing = Standing::kPublished,
          .make = make,
          .stages_apart = true};
}

}  // namespace adagp::method
