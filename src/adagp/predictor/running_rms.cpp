#include "adagp/predictor/running_rms.h"

#include <ATen/ATen.h>

#include "adagp/core/error.h"

namespace adagp::predictor {
namespace {

constexpr double kTiny = 1e-30;  // a layer without gradient keeps a finite scale

}  // namespace

RunningRms::RunningRms(size_t layers, double decay, bool enabled, at::TensorOptions options)
    : decay_(decay),
      enabled_(enabled),
      mean_square_(at::zeros({static_cast<int64_t>(layers)}, options)),
      scale_(at::ones({static_cast<int64_t>(layers)}, options)),
      seen_(layers, false) {}

void RunningRms::update(size_t layer, const at::Tensor& gradient) {
  if (!enabled_) return;
  const at::Tensor flat = gradient.flatten();
  const at::Tensor now = at::dot(flat, flat).div_(static_cast<double>(flat.numel()));
  at::Tensor average = mean_square_.select(0, static_cast<int64_t>(layer));
  if (seen_[layer]) {
    average.mul_(decay_).add_(now, 1.0 - decay_);
  } else {
    average.copy_(now);
    seen_[layer] = true;
  }
  scale_.select(0, static_cast<int64_t>(layer)).copy_(average.add(kTiny).sqrt_());
}

void RunningRms::mark_seen() {
  if (enabled_) seen_.assign(seen_.size(), true);
}

at::Tensor RunningRms::scale(size_t layer) const {
  return scale_.select(0, static_cast<int64_t>(layer));
}

std::map<std::string, at::Tensor> RunningRms::state() const {
  at::Tensor seen = at::zeros({static_cast<int64_t>(seen_.size())}, at::kByte);
  for (size_t i = 0; i < seen_.size(); ++i) seen[static_cast<int64_t>(i)] = seen_[i] ? 1 : 0;
  return {{"rms.mean_square", mean_square_}, {"rms.scale", scale_}, {"rms.seen", seen}};
}

void RunningRms::load_state(const std::map<std::string, at::Tensor>& state) {
  for (const char* name : {"rms.mean_square", "rms.scale", "rms.seen"}) {
    const auto found = state.find(name);
    if (found == state.end() || found->second.numel() != static_cast<int64_t>(seen_.size())) {
      throw DataError(std::string("predictor state: '") + name + "' is missing or of another size");
    }
  }
  mean_square_.copy_(state.at("rms.mean_square"));
  scale_.copy_(state.at("rms.scale"));
  const at::Tensor seen = state.at("rms.seen").cpu();
  for (size_t i = 0; i < seen_.size(); ++i) {
    seen_[i] = seen[static_cast<int64_t>(i)].item<uint8_t>() != 0;
  }
}

}  // namespace adagp::predictor
