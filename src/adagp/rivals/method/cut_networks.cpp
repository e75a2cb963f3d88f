#include "adagp/rivals/method/cut_networks.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/weights.h"
#include "adagp/gpu/device/autocast.h"
#include "adagp/rivals/options/options.h"

namespace adagp::method {
namespace {

const std::string kOptimizer = "optimizer.";

std::string network_name(size_t cut) {
  return core::cat("head", cut, ".");
}

}  // namespace

optim::Config adam_of_cuts() {
  optim::Config config;
  config.name = "adam";
  config.lr = kCutRate;
  config.decay = 0;
  return config;
}

// Their weights come from a generator state of their own, so that the network draws the numbers it
// would draw without them.
CutNetworks::CutNetworks(const step::Session& s, const std::vector<at::Tensor>& shapes,
                         const optim::Config& optimizer, const Maker& make) {
  if (shapes.empty()) return;
  require_classes(s);
  if (s.config.batch < 2) {
    throw UsageError("batch = 1: the batch norms of modules.signal = " +
                     s.config.parts.get<rivals::ModulesOptions>().signal +
                     " need 2 examples or more");
  }
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const at::Tensor before = generator.get_state();
  at::manual_seed(core::mix({static_cast<uint64_t>(s.config.seed), 0x68656164ULL}));
  const int64_t classes = s.task->model_options(s.config).classes;
  std::vector<optim::Param> params;
  for (size_t i = 0; i < shapes.size(); ++i) {
    networks_.push_back(make(shapes[i], classes));
    networks_.back()->to(s.device);
    for (const auto& item : networks_.back()->named_parameters()) {
      params.push_back({network_name(i) + item.key(), item.value()});
    }
  }
  generator.set_state(before);
  optimizer_ = optim::make_optimizer(params, optimizer);
}

void CutNetworks::set_lr(double rate) {
  if (optimizer_) optimizer_->set_lr(rate);
}

at::Tensor CutNetworks::run(const step::Session& s, size_t cut, const at::Tensor& x) const {
  const device::AutocastScope autocast(s.device, s.bf16);
  return networks_[cut]->forward(x);
}

void CutNetworks::update(const step::Session& s) {
  if (!optimizer_) return;
  const at::NoGradGuard no_grad;
  if (s.config.clip > 0) optimizer_->clip(s.config.clip);
  optimizer_->step();
  optimizer_->clear_gradients();
}

std::map<std::string, at::Tensor> CutNetworks::state() const {
  std::map<std::string, at::Tensor> out;
  for (size_t i = 0; i < networks_.size(); ++i) {
    for (const auto& [name, tensor] : run::state_dict(*networks_[i])) {
      out[network_name(i) + name] = tensor;
    }
  }
  if (!optimizer_) return out;
  for (const auto& [name, tensor] : optimizer_->state()) out[kOptimizer + name] = tensor;
  return out;
}

void CutNetworks::load_state(const std::map<std::string, at::Tensor>& state) {
  if (!optimizer_) return;
  const auto under = [&](const std::string& prefix) {
    io::TensorMap out;
    for (const auto& [name, tensor] : state) {
      if (name.starts_with(prefix)) out[name.substr(prefix.size())] = tensor;
    }
    return out;
  };
  for (size_t i = 0; i < networks_.size(); ++i) {
    run::load_state_dict(*networks_[i], under(network_name(i)), "checkpoint");
  }
  optimizer_->load_state(under(kOptimizer));
}

}  // namespace adagp::method
