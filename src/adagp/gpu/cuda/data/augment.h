#pragma once
// A training batch from images that stay on the device: gather, reflect-pad crop, flip, normalise.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

// What happens to one example: the window lies `down` and `right` of the image (negative: up,
// left), borders are mirrors that do not repeat the border pixel, flip mirrors the window.
struct Window {
  int32_t index = 0;  // of the image
  int16_t down = 0, right = 0;
  int32_t flip = 0;
};

struct AugmentArgs {
  const uint8_t* images = nullptr;  // [N, height, width, 3]
  const int64_t* labels = nullptr;  // [N]
  const Window* windows = nullptr;  // [batch], on the device
  int64_t batch = 0, height = 0, width = 0;
  // value = slope * byte + offset, per channel
  float slope[3] = {}, offset[3] = {};
  Type type = Type::kFloat;
  void* out = nullptr;            // [batch, height, width, 3]
  int64_t* out_labels = nullptr;  // [batch]
};
void augment(const AugmentArgs& args, Stream stream);

namespace reference {
void augment(const AugmentArgs& args);
}

}  // namespace adagp::cuda
