#pragma once
// One product on the array, seen as a matrix product (im2col) and as a convolution.
//
// im2col: M = output pixels x batch, K = R*S*C/groups, N = filters/groups; a layer with groups is
// that many products of that size, one after the other.
// Training (each with the groups of the layer):
//   forward          (M, K, N)   Y  = X W
//   input gradient   (M, N, K)   dX = dY W^T      not for the first layer with weights
//   weight gradient  (K, M, N)   dW = X^T dY
// As convolutions, for row stationary:
//   input gradient   C and M swapped, output size = input size
//   weight gradient  filter E x F, output R x S, channels = batch, one image per input channel
// A third axis (conv3d) is folded: batch x output depth images of channels x kernel depth. Dilation
// changes which pixels a window sees, not how many. A transposed convolution is the input gradient
// of the convolution from its output to its input: M = input pixels x batch, K = C/groups, N =
// R*S*filters/groups. Attention's activation-activation product (op "matmul") has no weights: every
// example and head is a group, and both gradients are input gradients.

#include <cstdint>

#include "adagp/sim/layers/table.h"

namespace adagp::accel {

enum class Pass { kForward, kInputGradient, kWeightGradient };

struct Gemm {
  int64_t m = 1, k = 1, n = 1;
  bool operator==(const Gemm&) const = default;
};

// A convolution of one group. Names as in Eyeriss: C channels, M filters, E x F output, R x S
// filter.
struct Conv {
  int64_t batch = 1;
  int64_t channels = 1;                // C
  int64_t filters = 1;                 // M
  int64_t out_h = 1, out_w = 1;        // E, F
  int64_t filter_h = 1, filter_w = 1;  // R, S
  int64_t in_h = 1, in_w = 1;          // of the tensor that is read, without padding
  int64_t halo = 0;                    // rows two neighbouring strips of output rows both read
  bool operator==(const Conv&) const = default;
};

// Words of the tensors of a product, each counted once, all groups together.
struct Tensors {
  int64_t input = 0;   // what streams in as the left operand: X, dY, X
  int64_t filter = 0;  // the right operand: W, W, dY
  int64_t output = 0;  // Y, dX, dW
  bool operator==(const Tensors&) const = default;
};

struct Work {
  Pass pass = Pass::kForward;
  int64_t groups = 1;
  Gemm gemm;  // of one group
  Conv conv;  // of one group
  Tensors tensors;
  bool operator==(const Work&) const = default;
};

int64_t macs(const Work& work);  // groups * m * k * n

// How an output size follows from an input size.
enum class SizeRule {
  kFloor,     // PyTorch: floor((in + 2*padding - filter) / stride) + 1
  kScaleSim,  // SCALE-Sim: ceil((in - filter) / stride) + 1, padding already in `in`
};
// Throws DataError when a size is not positive or the filter is larger than the padded input.
int64_t output_size(SizeRule rule, int64_t in, int64_t filter, int64_t stride, int64_t padding);

// The forward product of a row (of layers::is_product) for `batch` examples. Throws
// DataError naming the row for sizes below 1, a filter larger than the padded input, an output that
// is not what `rule` gives, groups that do not divide the channels, and products beyond 64 bits.
Work forward_work(const layers::Row& row, int64_t batch, SizeRule rule = SizeRule::kFloor);
Work input_gradient_work(const Work& forward, const layers::Row& row);
Work weight_gradient_work(const Work& forward, const layers::Row& row);

// A plain product (M, K, N), as a 1x1 convolution over M positions. Throws DataError for sizes < 1.
Work gemm_work(const Gemm& gemm, Pass pass = Pass::kForward);

}  // namespace adagp::accel
