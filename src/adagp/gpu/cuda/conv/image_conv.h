#pragma once
// The first convolution of networks on images: 3x3 with stride 1 and a padding of 1, from 3
// channels to 32 or 64, in bf16. Forward and gradient of the weight; images need no gradient.
// Tensor cores with fp32 sums; the large map is read or written once.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

struct ImageConvArgs {
  Type x_type = Type::kFloat;  // float is rounded to bf16 on the way: no pass of its own
  Map map;                     // of x: 3 channels
  int filters = 0;             // 32 or 64

  const void* x = nullptr;       // [batch, H, W, 3]
  const void* weight = nullptr;  // bf16 [filters, 3, 3, 3]: filter, row, column, channel; forward
  const void* dy = nullptr;      // bf16 [batch, H, W, filters]; weight gradient
  void* y = nullptr;             // out of forward: bf16, like dy
  void* dweight = nullptr;       // out of the weight gradient: bf16, like weight
  // Of the weight gradient: image_conv_workspace() floats, which need no zeros.
  float* workspace = nullptr;
};

// Whether the kernels take it: an image must divide into bands of at most eight rows and a multiple
// of 16 positions, two of which fit in shared memory. Arrays must begin at addresses divisible by
// 16.
bool image_conv_fits(const Map& map, int64_t filters);

// Equal input gives equal bits: the order of all additions depends on the shape alone.
void image_conv_forward(const ImageConvArgs& args, Stream stream);
int64_t image_conv_workspace(const Map& map, int64_t filters);  // floats
void image_conv_weight_gradient(const ImageConvArgs& args, Stream stream);

namespace reference {
void image_conv_forward(const ImageConvArgs& args);
void image_conv_weight_gradient(const ImageConvArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
