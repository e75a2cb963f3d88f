#include "adagp/base/core/student_t.h"

#include <cmath>
#include <initializer_list>
#include <limits>

namespace adagp::core {
namespace {

double never_zero(double value) {
  constexpr double kTiny = 1e-300;
  return std::abs(value) < kTiny ? kTiny : value;
}

// The continued fraction of the incomplete beta function, evaluated from the front (Lentz): the
// coefficients d_1, d_2, ... of x alternate between two forms.
double beta_fraction(double x, double a, double b) {
  double numerator = 1, denominator = 1 / never_zero(1 - (a + b) * x / (a + 1));
  double value = denominator;
  for (int m = 1; m <= 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double coefficient : {even, odd}) {
      denominator = 1 / never_zero(1 + coefficient * denominator);
      numerator = never_zero(1 + coefficient / numerator);
      change = numerator * denominator;
      value *= change;
    }
    if (std::abs(change - 1) < 1e-15) break;
  }
  return value;
}

// I_x(a, b), the regularised incomplete beta function.
double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges quickly on one side of the mean; the other follows by symmetry.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

}  // namespace

double student_t_cdf(double t, double freedom) {
  const double tail = incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2;
  return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double probability, double freedom) {
  if (!(probability > 0 && probability < 1) || !(freedom >= 1))
    return std::numeric_limits<double>::quiet_NaN();
  if (probability < 0.5) return -student_t_quantile(1 - probability, freedom);
  double low = 0, high = 1;
  while (student_t_cdf(high, freedom) < probability && high < 1e100) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_t_cdf(middle, freedom) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace adagp::core
