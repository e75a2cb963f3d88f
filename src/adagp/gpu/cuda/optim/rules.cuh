#pragma once
// The optimizer's update of one weight, for every kernel that changes weights.

#include "adagp/gpu/cuda/optim/optim.h"

namespace adagp::cuda {

// UpdateRule without its device pointers: what a kernel's arguments carry.
struct Rule {
  UpdateRule::Kind kind = UpdateRule::Kind::kSgd;
  bool nesterov = false;
  float momentum = 0, beta1 = 0, beta2 = 0, eps = 0;
};

inline Rule rule_of(const UpdateRule& rule) {
  return {rule.kind, rule.nesterov, rule.momentum, rule.beta1, rule.beta2, rule.eps};
}

// 1 - b1^t and sqrt(1 - b2^t) for the step after `steps` steps. By expm1, because 1 - powf() loses
// its digits where b^t is near one.
struct Corrections {
  float first = 1, second_sqrt = 1;
};
__device__ inline Corrections corrections_after(const Rule& rule, float steps) {
  const float t = steps + 1.0F;
  return {-expm1f(t * logf(rule.beta1)), sqrtf(-expm1f(t * logf(rule.beta2)))};
}

// Once every thread that reads the count for this step has read it.
__device__ inline void count_step(float* steps) {
  if (steps != nullptr) *steps += 1.0F;
}

// gradient: already multiplied by the rule's scale. has_first: false is SGD without momentum, then
// `first` is overwritten, and its value does not matter.
__device__ inline void apply_sgd(const Rule& rule, float lr, float decay, bool has_first,
                                 float gradient, float& weight, float& first) {
  gradient += decay * weight;
  first = has_first ? rule.momentum * first + gradient : gradient;
  const float ahead = gradient + rule.momentum * first;
  weight -= lr * (has_first && rule.nesterov ? ahead : first);
}

// kAdam adds decay * weight to the gradient, kAdamW shrinks the weight instead.
__device__ inline void apply_adam(const Rule& rule, float lr, float decay,
                                  const Corrections& corrections, float gradient, float& weight,
                                  float& first, float& second) {
  if (rule.kind == UpdateRule::Kind::kAdamW) {
    weight -= lr * decay * weight;
  } else {
    gradient += decay * weight;
  }
  first = rule.beta1 * first + (1.0F - rule.beta1) * gradient;
  second = rule.beta2 * second + (1.0F - rule.beta2) * gradient * gradient;
  weight -= lr / corrections.first * first / (sqrtf(second) / corrections.second_sqrt + rule.eps);
}

// Either of them; the branch is the same for all threads.
__device__ inline void apply_rule(const Rule& rule, float lr, float decay, bool has_first,
                                  const Corrections& corrections, float gradient, float& weight,
                                  float& first, float& second) {
  if (rule.kind == UpdateRule::Kind::kSgd) {
    apply_sgd(rule, lr, decay, has_first, gradient, weight, first);
  } else {
    apply_adam(rule, lr, decay, corrections, gradient, weight, first, second);
  }
}

}  // namespace adagp::cuda
