#pragma once
// How the depthwise kernels share a map among blocks and threads. Host code, so that it is tested
// without a GPU; the structs are what the kernels get.

#include "adagp/gpu/cuda/both_sides.h"
#include "adagp/gpu/cuda/conv/depthwise.h"
#include "adagp/gpu/cuda/norm/norm_plan.h"

namespace adagp::cuda::depthwise {

using plan::kLanes;
constexpr int kTaps = 9;  // weights of a filter

enum class Pass { kForward, kInputGradient };

// A thread makes a tile of rows_of() x columns_of() positions, so that it loads a neighbourhood
// once. In the input gradient both are multiples of the stride.
ADAGP_ON_BOTH_SIDES constexpr int rows_of(Pass pass, int stride) {
  return pass == Pass::kInputGradient ? stride : 1;
}
ADAGP_ON_BOTH_SIDES constexpr int columns_of(Type type) {
  return type == Type::kFloat ? 2 : 4;  // fp32 takes twice the registers
}

// Threads of a block: `width` vectors of channels side by side, times `rows` tiles; all channels
// are `parts` such widths.
struct Lanes {
  int channels = 0, parts = 0, width = 0, rows = 0;
};
Lanes lanes(int64_t channels, int threads, int widest);

// Tiles of a map, by columns, rows and images. A block takes `piece` of them, one after the other.
struct Tiles {
  int height = 0, width = 0;    // of the tiled map
  plan::Divider columns, rows;  // tiles side by side, and below each other in an image
  uint32_t count = 0, piece = 0;
};

// Forward (from x to y) and input gradient (from dy to dx): each position of `to` gathers from
// `from`.
struct Gather {
  static constexpr int kThreads = 256, kWidest = 32;
  const void* from = nullptr;
  const void* weight = nullptr;
  void* to = nullptr;
  int from_height = 0, from_width = 0;
  Lanes lanes;
  Tiles tiles;     // of `to`
  int blocks = 0;  // times lanes.parts
  int shared_floats() const { return kTaps * kLanes * lanes.width; }
};
Gather plan_forward(const DepthwiseArgs& args);
Gather plan_input_gradient(const DepthwiseArgs& args);

// Weight gradient: each block adds up its tiles to a chunk, then the chunks are added up.
struct Reduce {
  static constexpr int kThreads = 128, kWidest = 16;
  static constexpr int kStride = kThreads + 4;  // of shared memory: channels in different banks
  static constexpr int kColumns = 16, kGroups = 16;  // threads of the second round
  const void* x = nullptr;
  const void* dy = nullptr;
  float* sums = nullptr;  // [chunks, kTaps, channels]
  void* dweight = nullptr;
  int x_height = 0, x_width = 0;
  Lanes lanes;
  Tiles tiles;     // of dy
  int chunks = 0;  // times lanes.parts blocks
};
Reduce plan_weight_gradient(const DepthwiseArgs& args);

}  // namespace adagp::cuda::depthwise
