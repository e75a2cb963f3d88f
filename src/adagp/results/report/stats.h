#pragma once
// The little statistics a comparison over seeds needs.

#include <cstdint>
#include <vector>

#include "adagp/base/core/student_t.h"

namespace adagp::report {

double mean(const std::vector<double>& values);  // NaN for none
// With n - 1; NaN for fewer than two.
double standard_deviation(const std::vector<double>& values);

using core::student_t_cdf;
using core::student_t_quantile;

// The mean of differences with its two-sided 95 % t interval.
struct Difference {
  int64_t n = 0;
  double mean = 0;  // NaN for n = 0
  double low = 0;   // NaN for n < 2
  double high = 0;

  // Whether the interval lies on one side of zero. False when there is no interval.
  bool excludes_zero() const { return low > 0 || high < 0; }
};
Difference paired_difference(const std::vector<double>& differences);

}  // namespace adagp::report
