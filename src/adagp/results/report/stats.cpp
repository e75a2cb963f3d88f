#include "adagp/results/report/stats.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace adagp::report {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double mean(const std::vector<double>& values) {
  if (values.empty()) return kNotANumber;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return kNotANumber;
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

Difference paired_difference(const std::vector<double>& differences) {
  Difference out{static_cast<int64_t>(differences.size()), mean(differences), kNotANumber,
                 kNotANumber};
  if (out.n < 2) return out;
  const auto n = static_cast<double>(out.n);
  const double half =
      student_t_quantile(0.975, n - 1) * standard_deviation(differences) / std::sqrt(n);
  out.low = out.mean - half;
  out.high = out.mean + half;
  return out;
}

}  // namespace adagp::report
