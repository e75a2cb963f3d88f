#pragma once
// Depthwise convolution, 3x3 with a padding of 1, strides 1 and 2: every channel has a filter of
// its own. Forward, gradient of the input, gradient of the weight. A map is read once from memory
// and written once; sums are in fp32.

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

struct DepthwiseArgs {
  Type type = Type::kFloat;  // of everything but the workspace
  Map map;                   // of x
  int stride = 1;            // 1 or 2

  const void* x = nullptr;       // forward, weight gradient
  const void* weight = nullptr;  // [C, 3, 3]; forward, input gradient
  const void* dy = nullptr;      // like y; both gradients
  void* y = nullptr;             // out of forward: [batch, (H-1)/stride+1, (W-1)/stride+1, C]
  void* dx = nullptr;            // out of the input gradient: like x
  void* dweight = nullptr;       // out of the weight gradient: [C, 3, 3]
  // Of the weight gradient: depthwise_workspace() floats, which need no zeros.
  float* workspace = nullptr;
};

// The map of y.
Map depthwise_output(const Map& map, int stride);
// Whether the kernels take it: channels in vectors of eight, stride 1 or 2. Arrays must begin at
// addresses divisible by 16.
bool depthwise_fits(const Map& map, int stride);

// Equal input gives equal bits: the order of all additions depends on the shape alone.
void depthwise_forward(const DepthwiseArgs& args, Stream stream);
void depthwise_input_gradient(const DepthwiseArgs& args, Stream stream);
int64_t depthwise_workspace(Type type, const Map& map, int stride);  // floats
void depthwise_weight_gradient(const DepthwiseArgs& args, Stream stream);

namespace reference {
void depthwise_forward(const DepthwiseArgs& args);
void depthwise_input_gradient(const DepthwiseArgs& args);
void depthwise_weight_gradient(const DepthwiseArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
