#pragma once
// Student's t distribution, for bounds of a mean of few values.

namespace adagp::core {

// P(T <= t) of Student's t with `freedom` degrees of freedom (at least 1).
double student_t_cdf(double t, double freedom);
// The t with P(T <= t) = `probability`, 0 < probability < 1.
double student_t_quantile(double probability, double freedom);

}  // namespace adagp::core
