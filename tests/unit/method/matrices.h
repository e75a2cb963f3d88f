#pragma once
// A linear network in fp64, small enough to be computed by hand.

#include "unit/train/small.h"

namespace adagp::small {

constexpr int64_t kPixels = 3 * 16 * 16, kClasses = 10, kExamples = 5;

// Three matrices, one a block.
class ThreeMatrices : public models::BlockNet {
 public:
  ThreeMatrices() {
    constexpr int64_t kWidths[] = {kPixels, 12, 8, kClasses};
    for (size_t i = 0; i < 3; ++i) {
      const std::string name = "l" + std::to_string(i);
      const nn::Linear layer(kWidths[i], kWidths[i + 1], false);
      {
        const at::NoGradGuard no_grad;
        layer->weight.copy_(at::randn_like(layer->weight) * 0.1);
      }
      register_module(name, layer);
      blocks_.push_back(models::block(
          name, [layer](const at::Tensor& x) { return nn::Linear(layer)->forward(x.flatten(1)); }));
    }
  }
  std::vector<std::string> heads() const override { return {"l2"}; }
};

// In training mode, at the rate of the configuration.
inline step::Session matrices_session(const config::RunConfig& c) {
  const auto net = std::make_shared<ThreeMatrices>();
  net->to(at::kDouble);
  step::Session s = step::make_session(c, task(), net);
  s.net->train();
  s.set_lr(c.optim.lr);
  return s;
}

inline std::vector<data::Batch> made_up_batches(int64_t count) {
  std::vector<data::Batch> out;
  for (int64_t i = 0; i < count; ++i) {
    data::Batch batch;
    batch.inputs = {at::randn({kExamples, 3, 16, 16}, at::kDouble)};
    batch.targets = {at::randint(kClasses, {kExamples}, at::kLong)};
    out.push_back(batch);
  }
  return out;
}

}  // namespace adagp::small
