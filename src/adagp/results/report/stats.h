#pragma once
// The little statistics a comparison over seeds needs.

#include <cstdint>
#include <string>
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

// Whether seconds of training can be trusted.

// Equal work should take equal time: on a quiet GPU bp's epochs differ by less than 1 %. A warning
// if `what` ("bp, batch size 128: an epoch"), done several times, took `least` to `most` seconds;
// "" if these are near each other.
std::string clock_note(const std::string& what, double least, double most);

// A sentence if the runs were on several kinds of hardware, whose seconds are not compared; else
// "".
std::string hardware_note(const std::vector<std::string>& hardware);

// Which of several results are the best compromises.

// `values[i]`: what result i has on each axis, more is better on all of them (negate costs). Layer
// 0 is the Pareto front: results that no other matches on every axis and beats on one. Layer 1 is
// the front of the others, and so on. A result with a value that is not finite has layer -1.
std::vector<int> pareto_layers(const std::vector<std::vector<double>>& values);

}  // namespace adagp::report
