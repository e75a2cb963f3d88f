// noise: backprop with Gaussian noise on every gradient, whose variance falls with the steps t = 0,
// 1, ... (Neelakantan et al. 2015):  g + N(0, noise.eta / (1 + t)^0.55). It is the control of
// methods whose gradients have errors: is an error of no meaning as good?

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include "adagp/base/core/rng.h"
#include "adagp/engine/method/backprop.h"
#include "adagp/rivals/entries.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

class Noise : public Backprop {
 public:
  explicit Noise(const step::Session& s)
      : eta_(s.config.parts.get<rivals::NoiseOptions>().eta),
        generator_(at::globalContext().defaultGenerator(s.device).clone()) {}

  // A recording knows no generator but the device's own.
  Traits traits() const override { return {.recordable = eta_ == 0}; }
  void advance(step::Session&) override { ++steps_; }

  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    const step::StepResult result = step::backprop(s, batch);
    if (eta_ > 0) add_noise(s);
    step::update(s);
    return result;
  }

  std::map<std::string, at::Tensor> state() const override {
    return {{"steps", at::tensor({steps_})}};
  }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    steps_ = saved(state, "steps").item<int64_t>();
  }

 private:
  // A pure function of seed, step and parameter: copies of the network and other numbers of stages
  // have the same noise.
  uint64_t seed_of(const step::Session& s, const std::string& param) const {
    uint64_t seed =
        core::mix({static_cast<uint64_t>(s.config.seed), static_cast<uint64_t>(steps_)});
    for (const char c : param) seed = core::mix({seed, static_cast<unsigned char>(c)});
    return seed;
  }

  void add_noise(step::Session& s) {
    const at::NoGradGuard no_grad;
    step::gather_bf16_gradients(s);  // in fp32, as bf16 would round small noise away
    // A warm-up's steps are counted by nobody.
    const auto passed = static_cast<double>(std::max<int64_t>(1, steps_));  // 1 + t
    const double deviation = std::sqrt(eta_ / std::pow(passed, 0.55));
    for (size_t i = 0; i < s.optimizer->params().size(); ++i) {
      const at::Tensor gradient = s.optimizer->gradient(i);
      if (!gradient.defined()) continue;
      generator_.set_current_seed(seed_of(s, s.optimizer->params()[i].name));
      gradient.add_(
          at::empty(gradient.sizes(), gradient.options()).normal_(0, deviation, generator_));
    }
  }

  double eta_;
  at::Generator generator_;
  int64_t steps_ = 0;  // begun so far
};

}  // namespace

MethodEntry entries::noise() {
  return {.name = "noise",
          .about = "backprop with random noise on the gradients, which falls with time",
          .standing = Standing::kControl,
          .make = maker<Noise>()};
}

}  // namespace adagp::method
