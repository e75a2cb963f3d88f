#include <cmath>

#include "adagp/engine/models/families.h"
#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/ops.h"

namespace adagp::models {

void init_convolution(nn::WeightLayer& layer) {
  torch::NoGradGuard no_grad;
  const nn::LayerInfo& info = layer.info();
  const double fan_out = static_cast<double>(info.out * info.kernel[0] * info.kernel[1]);
  nn::draw_normal(layer.weight, 0, std::sqrt(2.0) / std::sqrt(fan_out));
  if (layer.bias.defined()) layer.bias.zero_();
}

void init_convolutions(Net& net) {
  if (nn::shape_only()) return;
  for (nn::WeightLayer* layer : nn::collect(net)) {
    if (layer->info().kind == nn::LayerKind::kConv2d) init_convolution(*layer);
  }
}

void init_fan_out(Net& net) {
  if (nn::shape_only()) return;
  torch::NoGradGuard no_grad;
  for (nn::WeightLayer* layer : nn::collect(net)) {
    if (layer->info().kind == nn::LayerKind::kConv2d) {
      init_convolution(*layer);
    } else {
      nn::draw_normal(layer->weight, 0, 0.01);
      layer->bias.zero_();
    }
  }
}

Block pooled_head(Net& net, const std::string& name, int64_t channels, const Options& options) {
  auto linear = net.register_module(name, nn::Linear(channels, options.classes));
  return block(name, [linear](const at::Tensor& x) {
    return linear->forward(nn::flatten(nn::adaptive_avg_pool2d(x, 1)));
  });
}

}  // namespace adagp::models
