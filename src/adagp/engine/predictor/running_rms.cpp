#include "adagp/engine/predictor/running_rms.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"

namespace adagp::predictor {
namespace {

constexpr double kTiny = 1e-30;  // a layer without gradient keeps a finite scale

}  // namespace

std::vector<std::string> layer_names(const std::vector<nn::WeightLayer*>& layers) {
  std::vector<std::string> names;
  for (const auto* layer : layers) {
    names.push_back(layer->path().empty() ? std::to_string(names.size()) : layer->path());
  }
  return names;
}

std::vector<std::string> names_but_last(const std::vector<nn::WeightLayer*>& layers) {
  std::vector<std::string> names = layer_names(layers);
  names.pop_back();
  return names;
}

RunningRms::RunningRms(std::vector<std::string> layers, bool enabled, at::TensorOptions options)
    : names_(std::move(layers)),
      enabled_(enabled),
      mean_square_(at::zeros({static_cast<int64_t>(names_.size())}, options)),
      scale_(at::ones({static_cast<int64_t>(names_.size())}, options)),
      seen_(names_.size(), false) {}

void RunningRms::update(size_t layer, const at::Tensor& gradient) {
  if (!enabled_) return;
  const at::Tensor flat = gradient.flatten();
  const at::Tensor now = at::dot(flat, flat).div_(static_cast<double>(flat.numel()));
  at::Tensor average = mean_square_.select(0, static_cast<int64_t>(layer));
  if (seen_[layer]) {
    average.mul_(kDecay).add_(now, 1.0 - kDecay);
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
  std::map<std::string, at::Tensor> out;
  const at::Tensor squares = mean_square_.cpu(), scales = scale_.cpu();
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    out["rms." + names_[i]] =
        at::stack({squares[at], scales[at], at::full({}, seen_[i] ? 1 : 0, squares.options())});
  }
  return out;
}

void RunningRms::load_state(const std::map<std::string, at::Tensor>& state) {
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto found = state.find("rms." + names_[i]);
    if (found == state.end() || found->second.numel() != 3) {
      throw DataError("predictor state: 'rms." + names_[i] + "' is missing or of another size");
    }
    const auto at = static_cast<int64_t>(i);
    mean_square_[at].copy_(found->second[0]);
    scale_[at].copy_(found->second[1]);
    seen_[i] = found->second[2].item<double>() != 0;
  }
}

}  // namespace adagp::predictor
