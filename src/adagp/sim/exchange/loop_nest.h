#pragma once
// A product as nested loops: what all writers of this folder write in their own words.
//
// One set of loops describes the three products of a layer. They differ in the tensor that is
// written: the output in the forward pass, the input in the input gradient, the weights in the
// weight gradient. Two of the three tensors are read.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adagp/sim/accel/plan.h"
#include "adagp/sim/layers/table.h"

namespace adagp::exchange {

// Positions are those of the smaller map: the output of a convolution, the input of a transposed
// one. Taps are those of the kernel.
enum class Loop {
  kBatch,
  kGroup,
  kFilter,
  kChannel,
  kDepth,
  kHeight,
  kWidth,
  kTapDepth,
  kTapHeight,
  kTapWidth
};
inline constexpr size_t kLoops = 10;

// One index of a tensor: `loop`, or with a tap stride * loop + dilation * tap - padding.
struct Index {
  Loop loop;
  std::optional<Loop> tap{};
  int64_t stride = 1, dilation = 1;
  int64_t size = 0;     // of the map along a tap's axis, without padding
  int64_t padding = 0;  // before the map
};

struct Tensor {
  const char* name;  // "Inputs", "Weights", "Outputs": of the layer, in all three products
  std::vector<Index> indices;
};

struct LoopNest {
  std::string name;  // of the layer
  std::string op;
  accel::Pass pass = accel::Pass::kForward;
  std::array<int64_t, kLoops> sizes{};  // at least 1
  Tensor left, right, result;           // result += left * right
  std::vector<Loop> m, k, n;  // loops along M, K and N of the matrix product; groups: none
  accel::Work work;

  int64_t size(Loop loop) const { return sizes[static_cast<size_t>(loop)]; }
  // The indices with a tap, of whichever tensor has them.
  std::vector<Index> windows() const;
};

// "forward", "input_gradient", "weight_gradient".
const char* pass_name(accel::Pass pass);
// "conv1.forward": unique, because names of layers are.
std::string product_name(const LoopNest& nest);

// The products of one batch of training, layer by layer, as accel::make_plan has them: no input
// gradient of the first layer, frozen layers forward alone. Throws DataError and UsageError as
// make_plan does, DataError when there is no product.
std::vector<LoopNest> loop_nests(const layers::Table& table, int64_t batch,
                                 accel::SizeRule rule = accel::SizeRule::kFloor);

}  // namespace adagp::exchange
