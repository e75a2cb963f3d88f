// RevNet (Gomez et al. 2017): residual blocks whose inputs follow from their outputs. The blocks
// that change the shape are ordinary ones and keep their inputs. Norms come before convolutions.

#include <string>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/models/conv_unit.h"
#include "adagp/engine/models/families.h"
#include "adagp/engine/models/halves.h"
#include "adagp/engine/nn/conv_norm.h"
#include "adagp/engine/nn/reversible.h"

namespace adagp::models {
namespace {

// conv(relu(norm(conv(relu(norm(x))))))
class PreNormPairImpl : public torch::nn::Module {
 public:
  PreNormPairImpl(int64_t in, int64_t out, int64_t stride) {
    bn1_ = register_module("bn1", nn::BatchNorm2d(in));
    conv1_ = register_module("conv1", plain_conv(in, out, 3, stride));
    bn2_ = register_module("bn2", nn::BatchNorm2d(out));
    conv2_ = register_module("conv2", plain_conv(out, out, 3, 1));
  }
  at::Tensor normed(const at::Tensor& x) { return nn::norm_relu(*bn1_, x); }
  at::Tensor after(const at::Tensor& normed) {
    return conv2_->forward(nn::norm_relu(*bn2_, conv1_->forward(normed)));
  }
  at::Tensor forward(const at::Tensor& x) { return after(normed(x)); }

 private:
  nn::BatchNorm2d bn1_{nullptr}, bn2_{nullptr};
  nn::Conv2d conv1_{nullptr}, conv2_{nullptr};
};
TORCH_MODULE(PreNormPair);

class RevNet : public BlockNet {
 public:
  RevNet(const RevNetPlan& plan, const Options& options) : reversible_(options.reversible) {
    int64_t channels = narrowed(plan.widths.front(), options);
    add_stem(channels, options.form);
    for (size_t stage = 0; stage < plan.blocks.size(); ++stage) {
      const int64_t width = narrowed(plan.widths[stage], options);
      if (width % 2 != 0) {
        throw UsageError(core::cat("revnet: ", width,
                                   " channels cannot be halved; use a smaller "
                                   "model.width_divisor"));
      }
      add_stage(stage, plan.blocks[stage], channels, width);
      channels = width;
    }
    auto bn = register_module("bn", nn::BatchNorm2d(channels));
    blocks_.push_back(block("bn", [bn](const at::Tensor& x) { return nn::norm_relu(*bn, x); }));
    blocks_.push_back(pooled_head(*this, "fc", channels, options));
    init_convolutions(*this);
  }

  std::vector<std::string> heads() const override { return {"fc"}; }

 private:
  void add_stem(int64_t width, Form form) {
    const bool large = form == Form::kImagenet;
    auto conv = register_module("conv1", plain_conv(3, width, large ? 7 : 3, large ? 2 : 1));
    const nn::Pool2d pool{3, 2, 1, "maxpool"};
    blocks_.push_back(block("conv1", [conv, pool, large](const at::Tensor& x) {
      const at::Tensor y = conv->forward(x);
      return large ? nn::max_pool2d(y, pool) : y;
    }));
  }

  void add_stage(size_t stage, int64_t count, int64_t in, int64_t width) {
    const std::string name = "layer" + std::to_string(stage + 1);
    auto group = register_module(name, std::make_shared<torch::nn::Module>(name));
    int64_t first = 0;
    if (stage > 0) {
      add_step_down(*group, name + ".0", in, width);
      first = 1;
    }
    if (first == count) return;
    auto stack = std::make_shared<std::vector<nn::ReversibleBlock>>();
    for (int64_t i = first; i < count; ++i) {
      auto pair = group->register_module(std::to_string(i),
                                         std::make_shared<torch::nn::Module>("reversible"));
      auto f1 = pair->register_module("f1", PreNormPair(width / 2, width / 2, 1));
      auto f2 = pair->register_module("f2", PreNormPair(width / 2, width / 2, 1));
      stack->push_back({[f1](const at::Tensor& x) { return f1->forward(x); },
                        [f2](const at::Tensor& x) { return f2->forward(x); }});
    }
    // One block of the network: a cut inside would have to keep the activations.
    blocks_.push_back(
        block(name + "." + std::to_string(first),
              [blocks = nn::ReversibleBlocks(stack), again = reversible_](const at::Tensor& x) {
                const nn::Halves y = run_halves(blocks, x, again);
                return nn::concat({y.first, y.second});
              }));
    blocks_.back().runs_twice = reversible_;
  }

  void add_step_down(torch::nn::Module& group, const std::string& path, int64_t in, int64_t width) {
    auto step = group.register_module("0", std::make_shared<torch::nn::Module>("step_down"));
    auto pair = step->register_module("f", PreNormPair(in, width, 2));
    auto shortcut = step->register_module("shortcut", plain_conv(in, width, 1, 2));
    blocks_.push_back(block(path, [pair, shortcut](const at::Tensor& x) {
      const at::Tensor normed = pair->normed(x);
      // In this order on every CPU: compilers differ in which argument they compute first.
      const at::Tensor shorter = shortcut->forward(normed);
      return nn::add_(pair->after(normed), shorter);
    }));
  }

  bool reversible_;
};

}  // namespace

std::shared_ptr<Net> revnet(const RevNetPlan& plan, const Options& options) {
  return std::make_shared<RevNet>(plan, options);
}

}  // namespace adagp::models
