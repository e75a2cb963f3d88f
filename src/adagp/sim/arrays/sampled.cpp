// Exact forward passes and sampled backward products, on a plain array: of dY only some examples
// take part (VCAS, ICLR 2024), or only some channels. What is left out is neither read nor
// multiplied; at least one example or channel stays.
//   examples   dX of b' = ceil(b * dy) examples; dW of ceil(b' * x)
//   channels   dX from c' = ceil(c * dy) filters of a group; dW of these filters alone. Where a
//              group has one filter, whole groups are left out
#include <algorithm>
#include <cmath>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/arrays/machine.h"

namespace adagp::arrays {
namespace {

using accel::ceil_div;
using accel::mul;
using accel::Pass;

int64_t kept_of(int64_t whole, double share) {
  // A share is one minus the zeros: 1 - 0.7 is a little more than 0.3.
  const double kept = static_cast<double>(whole) * (share - 1e-9);
  return std::clamp<int64_t>(std::llround(std::ceil(kept)), 1, whole);
}

// A part of `words`, kept : whole.
int64_t part(int64_t words, int64_t kept, int64_t whole) {
  return ceil_div(mul(words, kept), whole);
}

// Of a layer with weights: `batch` divides M, the images and the words of activations.
accel::Work with_examples(accel::Work work, int64_t kept, int64_t batch) {
  const auto scale = [&](int64_t& value) { value = part(value, kept, batch); };
  scale(work.tensors.input);
  if (work.pass == Pass::kInputGradient) {
    scale(work.gemm.m);
    scale(work.conv.batch);
    scale(work.tensors.output);
  } else {
    scale(work.gemm.k);
    scale(work.conv.channels);
    scale(work.tensors.filter);
  }
  return work;
}

accel::Work with_channels(accel::Work work, double share) {
  const bool input_gradient = work.pass == Pass::kInputGradient;
  int64_t& filters = input_gradient ? work.gemm.k : work.gemm.n;
  if (filters == 1) {
    const int64_t kept = kept_of(work.groups, share);
    for (int64_t* words : {&work.tensors.input, &work.tensors.filter, &work.tensors.output}) {
      *words = part(*words, kept, work.groups);
    }
    work.groups = kept;
    return work;
  }
  const int64_t kept = kept_of(filters, share);
  int64_t& images = input_gradient ? work.conv.channels : work.conv.filters;
  int64_t& gradient = input_gradient ? work.tensors.input : work.tensors.filter;
  int64_t& weights = input_gradient ? work.tensors.filter : work.tensors.output;
  images = part(images, kept, filters);
  gradient = part(gradient, kept, filters);
  weights = part(weights, kept, filters);
  filters = kept;
  return work;
}

accel::PassCost whole(const Product& product, const accel::Operands& operands,
                      const accel::Accelerator& a) {
  return accel::product_cost(product.work, a.array, accel::find_dataflow(a.dataflow), a, operands);
}

accel::PassCost cost_of(const accel::Work& work, const Product& product,
                        const accel::Operands& operands, const accel::Accelerator& a) {
  return whole({product.row, work, product.batch, product.draws}, operands, a);
}

bool is_sampled(const Product& product) {
  return product.work.pass != Pass::kForward && product.row.op != "matmul";
}

accel::PassCost some_examples(const Product& product, const accel::Operands& operands,
                              const accel::Accelerator& a) {
  if (!is_sampled(product)) return whole(product, operands, a);
  const bool input_gradient = product.work.pass == Pass::kInputGradient;
  const double dy = input_gradient ? operands.left.density : operands.right.density;
  int64_t kept = kept_of(product.batch, dy);
  if (!input_gradient) kept = kept_of(kept, operands.left.density);
  return cost_of(with_examples(product.work, kept, product.batch), product, operands, a);
}

accel::PassCost some_channels(const Product& product, const accel::Operands& operands,
                              const accel::Accelerator& a) {
  if (!is_sampled(product)) return whole(product, operands, a);
  const bool input_gradient = product.work.pass == Pass::kInputGradient;
  const double dy = input_gradient ? operands.left.density : operands.right.density;
  return cost_of(with_channels(product.work, dy), product, operands, a);
}

accel::PassCost predictor(const accel::Work& work, const accel::Accelerator& a, bool second) {
  return accel::product_cost(work, second ? a.second_array() : a.array,
                             accel::find_dataflow(a.dataflow), a);
}

}  // namespace

const Machine kSampledExamples = {
    "sampled-examples",
    "backward products of some examples of dY, fewer still in the weight gradient (VCAS, 2024)",
    "adagp-180",
    "the same array, every example takes part",
    Reads::kShares,
    false,
    false,
    {"choosing the examples, and the norms that it needs, are not counted",
     "products of two activations (attention) stay whole"},
    whole,
    some_examples,
    predictor};

const Machine kSampledChannels = {
    "sampled-channels",
    "backward products from some channels of dY",
    "adagp-180",
    "the same array, every channel takes part",
    Reads::kShares,
    false,
    false,
    {"choosing the channels, and the norms that it needs, are not counted",
     "products of two activations (attention) stay whole"},
    whole,
    some_channels,
    predictor};

}  // namespace adagp::arrays
