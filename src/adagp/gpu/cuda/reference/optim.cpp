#include <cmath>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/optim/optim.h"

namespace adagp::cuda {
namespace {

using Kind = UpdateRule::Kind;

double sgd(const ParamSlot& slot, const UpdateRule& rule, int64_t i, double gradient) {
  const double weight = slot.weight[i];
  double change = gradient + static_cast<double>(slot.decay) * weight;
  if (slot.first != nullptr) {
    const double g = change, momentum = rule.momentum;
    const double velocity = momentum * slot.first[i] + g;
    slot.first[i] = static_cast<float>(velocity);
    change = rule.nesterov ? g + momentum * velocity : velocity;
  }
  return weight - static_cast<double>(*rule.lr) * change;
}

double adam(const ParamSlot& slot, const UpdateRule& rule, int64_t i, double gradient) {
  const double lr = *rule.lr, decay = slot.decay, beta1 = rule.beta1, beta2 = rule.beta2;
  const double steps = static_cast<double>(*slot.steps) + 1;
  double weight = slot.weight[i];
  if (rule.kind == Kind::kAdam) gradient += decay * weight;
  if (rule.kind == Kind::kAdamW) weight -= lr * decay * weight;
  const double mean = beta1 * slot.first[i] + (1 - beta1) * gradient;
  const double square = beta2 * slot.second[i] + (1 - beta2) * gradient * gradient;
  slot.first[i] = static_cast<float>(mean);
  slot.second[i] = static_cast<float>(square);
  const double scale = std::sqrt(square) / std::sqrt(1 - std::pow(beta2, steps)) + rule.eps;
  return weight - lr / (1 - std::pow(beta1, steps)) * mean / scale;
}

void refresh(const ParamSlot& slot) {
  if (slot.low == nullptr) return;
  for (int64_t i = 0; i < slot.count; ++i) {
    static_cast<uint16_t*>(slot.low)[i] = float_to_bf16(slot.weight[i]);
  }
}

}  // namespace

void reference::update(const ParamSlot* slots, int64_t count, const UpdateRule& rule) {
  const double factor = rule.scale == nullptr ? 1.0 : *rule.scale;
  for (const ParamSlot* slot = slots; slot != slots + count; ++slot) {
    for (int64_t i = 0; i < slot->count; ++i) {
      const double gradient = factor * load_as_float(slot->gradient, slot->gradient_type, i);
      slot->weight[i] = static_cast<float>(
          rule.kind == Kind::kSgd ? sgd(*slot, rule, i, gradient) : adam(*slot, rule, i, gradient));
    }
    if (rule.kind != Kind::kSgd) *slot->steps += 1;
    refresh(*slot);
  }
}

void reference::refresh_bf16_copies(const ParamSlot* slots, int64_t count) {
  for (const ParamSlot* slot = slots; slot != slots + count; ++slot) refresh(*slot);
}

void reference::clip_scale(const ParamSlot* slots, int64_t count, const ClipArgs& args) {
  double squares = 0;
  for (const ParamSlot* slot = slots; slot != slots + count; ++slot) {
    for (int64_t i = 0; i < slot->count; ++i) {
      const double g = load_as_float(slot->gradient, slot->gradient_type, i);
      squares += g * g;
    }
  }
  const double norm = std::sqrt(squares), factor = args.max_norm / (norm + 1e-6);
  *args.norm = static_cast<float>(norm);
  *args.scale = static_cast<float>(factor > 1 ? 1.0 : factor);  // NaN stays NaN
}

}  // namespace adagp::cuda
