#pragma once
// The optimizer over all parameters in one launch. Each parameter's weight, state and low-precision
// copy are read and written once.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

// One parameter. All arrays have `count` elements in the same memory order.
struct ParamSlot {
  float* weight = nullptr;
  float* first = nullptr;   // sgd: momentum (null: none); adam: mean
  float* second = nullptr;  // adam: mean square
  float* steps = nullptr;   // adam: [1], steps taken so far; += 1 by the launch
  void* low = nullptr;      // bf16 copy to refresh, or null
  const void* gradient = nullptr;
  Type gradient_type = Type::kFloat;
  int64_t count = 0;
  float decay = 0;
};

struct UpdateRule {
  enum class Kind { kSgd, kAdam, kAdamW } kind = Kind::kSgd;
  float momentum = 0.9F;
  bool nesterov = false;
  float beta1 = 0.9F, beta2 = 0.999F, eps = 1e-8F;
  const float* lr = nullptr;  // on the device, [1]
  const float* scale =
      nullptr;  // gradients are multiplied by it (clipping), on the device; null: 1
};

//   sgd:   g += decay*w; v = momentum*v + g; w -= lr * (nesterov ? g + momentum*v : v)
//   adam:  g += decay*w (adamw: w -= lr*decay*w instead); m, v; t = steps + 1;
//          w -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
// Any number of slots (several launches if need be); the slots are read during the call.
void update(const ParamSlot* slots, int64_t count, const UpdateRule& rule, Stream stream);

// low = bf16(weight), rounded to nearest even, for all slots with a copy.
void refresh_bf16_copies(const ParamSlot* slots, int64_t count, Stream stream);

// Joint norm of all gradients, and the factor min(1, max_norm / (norm + 1e-6)).
struct ClipArgs {
  float max_norm = 0;
  float* norm = nullptr;      // out [1]
  float* scale = nullptr;     // out [1]
  void* workspace = nullptr;  // clip_workspace() bytes, zeroed once
};
int64_t clip_workspace();
void clip_scale(const ParamSlot* slots, int64_t count, const ClipArgs& args, Stream stream);

namespace reference {
void update(const ParamSlot* slots, int64_t count, const UpdateRule& rule);
void refresh_bf16_copies(const ParamSlot* slots, int64_t count);
void clip_scale(const ParamSlot* slots, int64_t count, const ClipArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
