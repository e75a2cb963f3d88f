#pragma once
// ADA-GP on top of a machine, in closed form.

namespace adagp::arrays {

// Costs of the three passes on the machine, relative to a forward pass without its trick.
struct RelativePasses {
  double forward = 1, input_gradient = 1, weight_gradient = 1;
};

// (c_f + c_x + c_w) / (c_f + alpha + (1 - f)(c_x + c_w + 2 alpha)): f the share of GP batches,
// alpha the predictor's forward pass relative to a forward pass without the trick, its backward
// pass 2 alpha. The three passes without the trick are taken to cost the same.
inline double combined_speedup(const RelativePasses& c, double alpha, double share) {
  const double backward = c.input_gradient + c.weight_gradient;
  return (c.forward + backward) / (c.forward + alpha + (1 - share) * (backward + 2 * alpha));
}

}  // namespace adagp::arrays
