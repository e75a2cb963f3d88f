#pragma once
// 3x3 convolutions with stride 1 and a padding of 1 as our kernels compute them: input rounded to
// bf16, fp32 sums, results in bf16. The references of image_conv.h and narrow_conv.h are these.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda::reference {

// Memory order: maps [batch, H, W, channels or filters], weights [filters, 3, 3, channels]. What a
// function does not name may be null.
struct Conv3x3 {
  Map map;  // of x
  int64_t filters = 0;
  Type x_type = Type::kBFloat16;
  const void *x = nullptr, *weight = nullptr, *dy = nullptr;
  void *y = nullptr, *dweight = nullptr;
};

void conv3x3_forward(const Conv3x3& conv);          // y of x and weight
void conv3x3_weight_gradient(const Conv3x3& conv);  // dweight of x and dy

}  // namespace adagp::cuda::reference
