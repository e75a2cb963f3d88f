#include "adagp/rivals/method/modules_ticks.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/text.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/step/generators.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/task/loss.h"
#include "adagp/rivals/method/modules_state.h"
#include "adagp/rivals/options/options.h"
#include "adagp/teams/parallel/process_team.h"

namespace adagp::method {
namespace {

models::Tensors gradients_of(const models::Tensors& leaves, double shrink) {
  models::Tensors out;
  for (const at::Tensor& leaf : models::differentiable(leaves)) {
    out.push_back(leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf.detach()));
    if (shrink != 1) out.back().mul_(shrink);
  }
  return out;
}

std::string pass_name(size_t module, size_t pass) {
  return core::cat("module", module, ".pass", pass, ".");
}

// Null: all modules are in this process.
std::unique_ptr<parallel::ModuleMessages> messages_of(const step::Session& s) {
  auto* team = dynamic_cast<parallel::ProcessTeam*>(s.team.get());
  if (team == nullptr || !team->stages_apart()) return nullptr;
  return std::make_unique<parallel::ModuleMessages>(*team->pipe(), s.device);
}

}  // namespace

Ticks::Ticks(step::Session& s)
    : Modules(s),
      link_(messages_of(s)),
      unlocked_(s.config.parts.get<rivals::ModulesOptions>().unlocked),
      fast_(s.part<step::FastWidths>()),
      shrink_(s.config.parts.get<rivals::ModulesOptions>().shrink),
      inbox_(count()),
      gradients_(count()),
      passes_(count()) {
  for (const auto& param : s.optimizer->params()) param_names_.push_back(param.name);
}

io::TensorMap random_state(const step::Session& s) {
  return step::generator_state(step::SoloTeam(), s.device);
}

void set_random_state(const step::Session& s, const io::TensorMap& state) {
  step::load_generator_state(step::SoloTeam(), s.device, state);
}

size_t Ticks::delay(size_t module) const {
  return (unlocked_ ? 2 : 1) * (count() - 1 - module);
}

step::StepResult Ticks::exact_step(step::Session& s, const data::Batch& batch, Probes*) {
  s.check_intact();
  if (loaded_) rebuild_all(s);
  if (here(0)) inbox_[0] = batch.inputs;
  if (here(count() - 1)) {
    targets_.push_back(batch);
    targets_.back().inputs.clear();
  }
  if (link_ != nullptr && !unlocked_) take_inputs();
  forward_all(s);
  step::StepResult result = backward_all(s);
  if (link_ != nullptr) {
    if (unlocked_) take_inputs();
    gradients_[link_->module()] = link_->take_gradients();
  }
  // Older graphs hold the weights of their own time (modules_delayed.cpp). The step that moves the
  // present ones must not look to them like a change of theirs.
  const at::AutoDispatchBelowADInplaceOrView unseen;
  step::update(s);
  return result;
}

void Ticks::take_inputs() {
  if (!here(0)) inbox_[link_->module()] = link_->take_inputs();
}

void Ticks::forward_all(step::Session& s) {
  models::Tensors made;
  for (size_t i = 0; i < count(); ++i) {
    // Unlocked, a module takes its input before the one ahead puts the next there.
    const size_t module = unlocked_ ? count() - 1 - i : i;
    if (inbox_[module].empty()) continue;
    ModulePass pass{std::exchange(inbox_[module], {})};
    if (delay(module) > 0) pass.random = random_state(s);
    if (delay(module) > 0 && fast_ != nullptr) pass.fast = fast_->moment();
    made = as_leaves(forward(s, module, pass));
    if (!last(module) && link_ == nullptr) inbox_[module + 1] = made;
    passes_[module].push_back(std::move(pass));
  }
  if (link_ != nullptr) link_->pass_on(made);
}

step::StepResult Ticks::backward_all(step::Session& s) {
  step::StepResult result;
  models::Tensors made;
  // A module reads its gradients before the one behind writes the next.
  for (size_t module = 0; module < count(); ++module) {
    if (passes_[module].size() <= delay(module)) continue;
    ModulePass pass = std::move(passes_[module].front());
    passes_[module].pop_front();
    if (last(module)) {
      const data::Batch batch = std::move(targets_.front());
      targets_.pop_front();
      const task::Loss loss = s.loss(pass.outputs, batch, true);
      task::backward(loss, pass.outputs, 1, batch.weights);
      result.targets = batch.targets;
      result.add(loss.value.detach(), 1);
      for (const at::Tensor& output : pass.outputs) result.outputs.push_back(output.detach());
    } else {
      backward(s, module, pass, std::exchange(gradients_[module], {}));
    }
    if (module == 0) continue;
    made = gradients_of(pass.inputs, shrink_);
    if (link_ == nullptr) gradients_[module - 1] = made;
  }
  if (link_ != nullptr) link_->pass_back(made);
  return result;
}

void Ticks::rebuild_all(step::Session& s) {
  const io::TensorMap now = random_state(s);
  step::FastWidths::Moment rounding;
  if (fast_ != nullptr) rounding = fast_->moment();
  for (size_t module = 0; module < count(); ++module) {
    for (ModulePass& pass : passes_[module]) {
      set_random_state(s, pass.random);
      if (fast_ != nullptr) fast_->set_moment(pass.fast);
      rebuild(s, module, pass);
    }
  }
  set_random_state(s, now);
  if (fast_ != nullptr) fast_->set_moment(rounding);
  loaded_ = false;
}

// ---------------------------------------------------------------- checkpoints

std::map<std::string, at::Tensor> Ticks::state() const {
  std::map<std::string, at::Tensor> out;
  for (size_t m = 0; m < count(); ++m) {
    put_tensors(out, core::cat("module", m, ".inbox"), inbox_[m]);
    put_tensors(out, core::cat("module", m, ".gradients"), gradients_[m]);
    for (size_t p = 0; p < passes_[m].size(); ++p) {
      const ModulePass& pass = passes_[m][p];
      put_tensors(out, pass_name(m, p) + "input", pass.inputs);
      for (size_t i = 0; i < pass.weights.size(); ++i) {
        out[pass_name(m, p) + "weight." + param_names_[params(m)[i]]] = pass.weights[i];
      }
      for (const auto& [name, random] : pass.random)
        out[pass_name(m, p) + "random." + name] = random;
      if (!pass.fast.widths.defined()) continue;
      out[pass_name(m, p) + "fast.products"] = at::tensor({pass.fast.products});
      out[pass_name(m, p) + "fast.widths"] = pass.fast.widths;
    }
  }
  for (size_t i = 0; i < targets_.size(); ++i) {
    const std::string name = core::cat("batch", i, ".");
    put_tensors(out, name + "target", targets_[i].targets);
    if (targets_[i].examples.defined()) out[name + "examples"] = targets_[i].examples;
    if (targets_[i].weights.defined()) out[name + "weights"] = targets_[i].weights;
  }
  return out;
}

void Ticks::load_state(const std::map<std::string, at::Tensor>& state) {
  targets_.clear();
  for (size_t m = 0; m < count(); ++m) {
    if (!here(m)) continue;
    inbox_[m] = take_tensors(state, core::cat("module", m, ".inbox"));
    gradients_[m] = take_tensors(state, core::cat("module", m, ".gradients"));
    passes_[m].clear();
    for (size_t p = 0; p < delay(m); ++p) {
      const std::string name = pass_name(m, p);
      ModulePass pass{take_tensors(state, name + "input")};
      if (pass.inputs.empty()) break;
      for (const size_t param : params(m)) {
        const auto found = state.find(name + "weight." + param_names_[param]);
        if (found != state.end()) pass.weights.push_back(found->second);
      }
      for (const std::string generator : {"cpu", "cuda"}) {
        const auto found = state.find(name + "random." + generator);
        if (found != state.end()) pass.random[generator] = found->second.cpu();
      }
      if (fast_ != nullptr) {
        pass.fast = {saved(state, name + "fast.products").item<int64_t>(),
                     saved(state, name + "fast.widths")};
      }
      passes_[m].push_back(std::move(pass));
    }
  }
  for (size_t i = 0; i < count() && here(count() - 1); ++i) {
    const std::string name = core::cat("batch", i, ".");
    data::Batch batch;
    batch.targets = take_tensors(state, name + "target");
    if (batch.targets.empty()) break;
    if (state.contains(name + "examples")) batch.examples = saved(state, name + "examples");
    if (state.contains(name + "weights")) batch.weights = saved(state, name + "weights");
    targets_.push_back(batch);
  }
  loaded_ = true;
}

}  // namespace adagp::method
