#pragma once
// The in-place array (accel/dataflow/in_place.cpp) with cells that multiply groups of values which
// share an exponent: FAST (16 pairs of 2-bit chunks a cycle) and CAMEL (9 whole pairs).
//
// With g values in a group, p the 2-bit chunks of an operand's mantissas (1 for whole ones), H x W
// cells and M, K, N those of each product:
//   forward, groups along K
//     ceil(N/H) * ceil(ceil(K/g)/W) * p_w * (M*p_x + 2H + W - 2)
//   input gradient, groups along its K, the filters: the weights enter anew, laid out in the same
//   way
//     ceil(N/H) * ceil(ceil(K/g)/W) * p_w * (M*p_dy + 2H + W - 2)
//   the same without regrouping: the weights of the forward pass are still there
//     ceil(K/H) * ceil(ceil(N/g)/W) * p_w * (M*p_dy + H + W - 2)
//   weight gradient, groups along batch and pixels, both operands stream
//     ceil(N/H) * ceil(M/W) * (ceil(K/g)*p_x*p_dy + H + W - 2)

#include "adagp/sim/accel/dataflow/dataflow.h"

namespace adagp::arrays {

struct BlockFormat {
  int64_t group = 16;
  int64_t left_chunks = 1, right_chunks = 1;
  bool regroup = true;
};

struct BlockCost {
  accel::ArrayCost array;
  int64_t cell_cycles = 0;  // cells times cycles in which they multiply
};

BlockCost block_array_cost(const accel::Work& work, const accel::Array& array,
                           const BlockFormat& format);

}  // namespace adagp::arrays
