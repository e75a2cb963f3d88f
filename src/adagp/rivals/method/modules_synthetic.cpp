// modules.signal = synthetic: decoupled neural interfaces (Jaderberg et al. 2017) for all batches.
// Behind every module but the last a synthesiser tells the gradient of the loss by what the module
// made, from that and from the label (cDNI), and the module goes backward from it at once. The
// synthesiser learns from the gradient that the next module makes of its own signal: the true one
// behind the last cut, one that starts from the next synthesiser elsewhere.

#include <algorithm>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>

#include "adagp/engine/predictor/running_rms.h"
#include "adagp/rivals/method/cut_networks.h"

namespace adagp::method {
namespace {

// Two hidden layers, convolutions that keep the size, each with a norm and ReLU. The last layer
// begins with zeros. A vector is a map of one pixel.
class Synthesiser : public CutNetwork {
 public:
  Synthesiser(const at::Tensor& x, int64_t classes, int64_t width_divisor) {
    const bool map = x.dim() == 4;
    const int64_t channels = map ? x.size(1) : x.numel(), side = map ? kSide : 1;
    const int64_t hidden = std::max<int64_t>(1, (map ? kFilters : kUnits) / width_divisor);
    const auto pixels = static_cast<double>(map ? x.size(2) * x.size(3) : 1);
    const auto conv = [&](int64_t in, int64_t out, bool bias) {
      macs_.push_back(pixels * static_cast<double>(in * out * side * side));
      return torch::nn::Conv2d(
          torch::nn::Conv2dOptions(in, out, side).padding(side / 2).bias(bias));
    };
    int64_t in = channels + classes;
    for (int i = 0; i < kHidden; ++i) {
      layers_->push_back(conv(in, hidden, false));
      layers_->push_back(torch::nn::BatchNorm2d(hidden));
      layers_->push_back(torch::nn::ReLU());
      in = hidden;
    }
    const torch::nn::Conv2d last = conv(in, channels, true);
    {
      const at::NoGradGuard no_grad;
      last->weight.zero_();
      last->bias.zero_();
    }
    layers_->push_back(last);
    register_module("layers", layers_);
  }

  at::Tensor forward(const at::Tensor& x) override { return layers_->forward(x); }
  double macs() const override {
    double sum = 0;
    for (const double layer : macs_) sum += layer;
    return sum;
  }
  // Nobody asks for the gradient of its input.
  double backward_macs() const override { return 2 * macs() - macs_.front(); }

 private:
  static constexpr int64_t kSide = 5, kFilters = 128, kUnits = 1024;
  static constexpr int kHidden = 2;
  torch::nn::Sequential layers_;
  std::vector<double> macs_;  // of each layer
};

// [B, C + classes, H, W]: a channel of ones for the label, of zeros for every other class.
at::Tensor with_labels(const at::Tensor& made, const at::Tensor& labels, int64_t classes) {
  const at::Tensor map =
      (made.dim() == 4 ? made : made.flatten(1).unsqueeze(-1).unsqueeze(-1)).to(at::kFloat);
  const at::Tensor truth =
      labels.unsqueeze(1).eq(at::arange(classes, labels.options())).to(at::kFloat);
  const at::Tensor planes =
      truth.unsqueeze(-1).unsqueeze(-1).expand({-1, -1, map.size(2), map.size(3)});
  return at::cat({map, planes}, 1);
}

std::vector<std::string> names_of_cuts(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("cut" + std::to_string(i));
  return names;
}

class Synthetic : public Modules {
 public:
  explicit Synthetic(step::Session& s)
      : Modules(s),
        classes_(s.task->model_options(s.config).classes),
        synthesisers_(s, cuts(), adam_of_cuts(),
                      [divisor = s.config.model.width_divisor](
                          const at::Tensor& x, int64_t classes) -> std::shared_ptr<CutNetwork> {
                        return std::make_shared<Synthesiser>(x, classes, divisor);
                      }),
        rms_(names_of_cuts(count() - 1), true, at::device(s.device).dtype(at::kFloat)) {}

  // As the network's rate rises and falls.
  void advance(step::Session& s) override {
    synthesisers_.set_lr(kCutRate * s.lr / s.config.optim.lr);
  }

  step::StepResult exact_step(step::Session& s, const data::Batch& batch, Probes*) override {
    step::StepResult result;
    std::vector<at::Tensor> told;  // in units of the gradient's size, with graphs
    const auto signal = [&](size_t m, const at::Tensor& made) {
      const at::Tensor seen = with_labels(made.detach(), batch.labels(), classes_);
      told.push_back(synthesisers_.run(s, m, seen).to(at::kFloat));
      const at::Tensor gradient = told.back().detach() * rms_.scale(m);
      return at::empty_like(made.detach()).copy_(gradient.reshape(made.sizes()));
    };
    const models::Tensors crossed = backward_at_once(s, batch, signal, result);
    update(s);
    for (size_t m = 0; m < told.size(); ++m) learn(m, told[m], crossed[m].grad());
    synthesisers_.update(s);
    return result;
  }

  // The gradients at the cuts are made, too: synthesisers learn from them.
  double cost(const step::Session&, const Costs& costs, const plan::BatchContext&,
              int64_t examples) const override {
    double sum = costs.backprop();
    for (size_t m = 0; !last(m); ++m) sum += synthesisers_.macs(m) + synthesisers_.backward_macs(m);
    return sum * static_cast<double>(examples);
  }

  std::map<std::string, at::Tensor> state() const override {
    auto out = synthesisers_.state();
    out.merge(rms_.state());
    return out;
  }
  void load_state(const std::map<std::string, at::Tensor>& state) override {
    synthesisers_.load_state(state);
    rms_.load_state(state);
  }

 private:
  void learn(size_t cut, const at::Tensor& told, const at::Tensor& gradient) {
    const at::Tensor target = gradient.to(at::kFloat).reshape(told.sizes());
    rms_.update(cut, target);
    torch::autograd::backward({at::mse_loss(told, target.div(rms_.scale(cut)))}, {});
  }

  int64_t classes_;
  CutNetworks synthesisers_;   // behind all modules but the last
  predictor::RunningRms rms_;  // of the gradients that they learn from
};

}  // namespace

std::unique_ptr<Method> make_synthetic(step::Session& session) {
  return std::make_unique<Synthetic>(session);
}

}  // namespace adagp::method
