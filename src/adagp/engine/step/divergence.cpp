#include "adagp/engine/step/divergence.h"

#include <ATen/ATen.h>

#include "adagp/base/core/text.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::step {
namespace {

bool all_finite(const at::Tensor& tensor) {
  return at::isfinite(tensor).all().item<bool>();
}

class FirstBroken : public nn::TapSink {
 public:
  void on_output(const nn::WeightLayer& layer, const at::Tensor&,
                 const at::Tensor& output) override {
    if (!found.empty()) return;
    if (!all_finite(layer.weight)) {
      found = "layer '" + layer.path() + "': weights not finite";
    } else if (!all_finite(output)) {
      found = "layer '" + layer.path() + "': output not finite";
    } else if (const double size = output.abs().max().item<double>(); size >= largest) {
      largest = size;
      loudest = layer.path();
    }
  }
  std::string found, loudest;
  double largest = 0;
};

}  // namespace

std::string describe_divergence(models::Net& net, const models::Tensors& inputs) {
  const at::NoGradGuard no_grad;
  if (inputs.empty()) return "no batch at hand";
  FirstBroken sink;
  const nn::TapScope taps(sink);
  net.run(inputs);
  if (!sink.found.empty() || sink.loudest.empty()) return sink.found;
  return core::cat("all layers finite, the largest output ", sink.largest, " in layer '",
                   sink.loudest, "'");
}

}  // namespace adagp::step
