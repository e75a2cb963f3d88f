// modules.signal = critic: a module goes backward from the gradient of a critic behind it (VFBN,
// Miyato et al. 2017; Sobolev training, Czarnecki et al. 2017). The critic learns from what comes
// back later: the gradient by its input that the next module makes from its own signal, which is
// the true one behind the last module, and the loss of each example.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/engine/task/loss.h"
#include "adagp/rivals/method/auxiliary_head.h"
#include "adagp/rivals/method/critic.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

class Critic : public Modules {
 public:
  explicit Critic(step::Session& s)
      : Modules(s),
        critics_(s, cuts(), adam_of_cuts(), make_auxiliary_head),
        match_(s.config.parts.get<rivals::ModulesOptions>().match) {}

  // As the network's rate rises and falls.
  void advance(step::Session& s) override { critics_.set_lr(kCutRate * s.lr / s.config.optim.lr); }

  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    step::StepResult result;
    std::vector<Verdict> verdicts;
    const auto signal = [&](size_t m, const at::Tensor& made) {
      const auto scores = [&](const at::Tensor& h) { return critics_.run(s, m, h); };
      verdicts.push_back(judge(scores, made, batch.labels(), match_ != "value"));
      return verdicts.back().gradient.detach();
    };
    const models::Tensors cuts = backward_at_once(s, batch, signal, result);
    update(s);
    for (size_t m = 0; m < verdicts.size(); ++m) learn(m, verdicts[m], cuts[m].grad(), result);
    critics_.update(s);
    return result;
  }

  // Of a critic: forward and backward, and for its gradient's gradient as much again.
  double cost(const step::Session&, const Costs& costs, const plan::BatchContext&,
              int64_t examples) const override {
    double sum = costs.forward();
    for (size_t m = 0; m < count(); ++m) {
      sum += costs.backward_of(first_block(m), first_block(m + 1));
      if (!last(m)) sum += (match_ == "value" ? 3 : 6) * critics_.macs(m);
    }
    return sum * static_cast<double>(examples);
  }

  std::map<std::string, at::Tensor> state() const override { return critics_.state(); }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    critics_.load_state(state);
  }

 private:
  void learn(size_t critic, const Verdict& verdict, const at::Tensor& true_gradient,
             const step::StepResult& result) {
    const at::Tensor true_losses =
        match_ == "both" ? task::softmax_losses(result.outputs.at(0), result.targets.at(0))
                         : at::Tensor();
    const at::Tensor loss = critic_loss(verdict, true_losses, true_gradient, match_);
    std::vector<at::Tensor> weights = critics_.parameters(critic);
    const auto found = torch::autograd::grad({loss}, weights, {}, {}, false, true);
    for (size_t i = 0; i < weights.size(); ++i) {
      if (found[i].defined()) weights[i].mutable_grad() = found[i];
    }
  }

  CutNetworks critics_;  // behind all modules but the last
  std::string match_;
};

}  // namespace

std::unique_ptr<Method> make_critic(step::Session& session) {
  return std::make_unique<Critic>(session);
}

}  // namespace adagp::method
