#pragma once
// Images made smaller: every new pixel is the mean of the old ones it covers, a part of one
// counting as a whole (PyTorch's "area", which is its adaptive average pool).

#include "adagp/gpu/cuda/types.h"

namespace adagp::cuda {

struct ShrinkArgs {
  const void* in = nullptr;  // [batch, height, width, 3]
  Type type = Type::kFloat;
  int64_t batch = 0, height = 0, width = 0;
  int64_t out_height = 0, out_width = 0;  // at most height and width
  void* out = nullptr;                    // [batch, out_height, out_width, 3], of the same type
};
void shrink(const ShrinkArgs& args, Stream stream);

namespace reference {
void shrink(const ShrinkArgs& args);
}

}  // namespace adagp::cuda
