#pragma once
// Virtual examples: the batch is summed up, weighted by its errors, into one example a class.
//
//   x_c = sum_i (e_ic - mean_j e_jc) x_i,   gradient = sum over c of that of x_c against V_l[c]
//
// V_l is dfa's. A weight gradient is linear in input and delta, so without taking the mean out this
// is dfa's gradient in other brackets; with it, dfa's for errors that have mean zero. It costs the
// weight gradient of `classes` examples instead of the batch's, and the sums x_c.

#include <vector>

#include "adagp/rivals/predictor/dfa.h"

namespace adagp::predictor {

class VtPredictor : public DfaPredictor {
 public:
  using DfaPredictor::DfaPredictor;

 protected:
  at::Tensor coefficients(const at::Tensor& errors) const override;
  at::Tensor gradient(size_t layer, const at::Tensor& input, const at::Tensor& c,
                      const at::Tensor& feedback, const std::vector<int64_t>& shape) const override;
  double layer_macs(size_t layer, int64_t examples) const override;
};

}  // namespace adagp::predictor
