#pragma once
// The convolutions by which DenseNet grows: 3x3 with stride 1 and a padding of 1, from 128 channels
// to 32, in bf16. Forward and gradient of the weight, on tensor cores with fp32 sums. The gradient
// of the input is a product of usual width and is left to cuDNN.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

struct NarrowConvArgs {
  Map map;                   // of x: 128 channels
  int64_t block_memory = 0;  // of the device (types.h); the references need none

  const void* x = nullptr;       // bf16 [batch, H, W, 128]
  const void* weight = nullptr;  // bf16 [32, 3, 3, 128]: filter, row, column, channel; forward
  const void* dy = nullptr;      // bf16 [batch, H, W, 32]; weight gradient
  void* y = nullptr;             // out of forward: bf16, like dy
  void* dweight = nullptr;       // out of the weight gradient: bf16, like weight
  // Of the weight gradient: narrow_conv_workspace() floats, which need no zeros.
  float* workspace = nullptr;
};

// Whether the kernels take a map of this shape, on a device whose blocks may have so many bytes of
// shared memory. Arrays must begin at addresses divisible by 16.
bool narrow_conv_fits(const Map& map, int64_t filters, int64_t block_memory);

// Equal input gives equal bits: the order of all additions depends on the shape alone.
void narrow_conv_forward(const NarrowConvArgs& args, Stream stream);
int64_t narrow_conv_workspace(const Map& map);  // floats
void narrow_conv_weight_gradient(const NarrowConvArgs& args, Stream stream);

namespace reference {
void narrow_conv_forward(const NarrowConvArgs& args);
void narrow_conv_weight_gradient(const NarrowConvArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
