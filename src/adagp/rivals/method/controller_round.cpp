#include "adagp/rivals/method/controller_round.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "adagp/base/core/student_t.h"

namespace adagp::method {
namespace {

constexpr int64_t kFewestPairs = 3;  // an earlier bound has a single degree of freedom
constexpr double kRounding = 1e-9;  // of a rate: far above rounding, far below what can be measured
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return kNoValue;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double per_batch(double seconds, int64_t batches) {
  return batches > 0 ? seconds / static_cast<double>(batches) : kNoValue;
}

}  // namespace

bool Figures::pays() const {
  return low > kRounding * std::max(std::abs(rate), std::abs(bp_rate));
}

bool higher_low(const Figures& a, const Figures& b) {
  if (a.bp_rate > 0 && b.bp_rate > 0) return a.low / a.bp_rate > b.low / b.bp_rate;
  return a.low > b.low;
}

bool at_least_rate(const Figures& a, const Figures& b) {
  if (a.bp_rate > 0 && b.bp_rate > 0) return a.rate / a.bp_rate >= b.rate / b.bp_rate;
  return a.rate >= b.rate;
}

bool Round::bp_is_next() const {
  const size_t done = rates.size() + bp_rates.size();
  const bool bp_first = done / 2 % 2 == 0, first = done % 2 == 0;
  return bp_first == first;
}

void Round::add(int64_t window_batches, double window_seconds, double loss_before,
                double loss_after) {
  const bool bp = bp_is_next();
  const bool timed = window_seconds > 0 && std::isfinite(window_seconds);
  const double rate = timed ? (loss_before - loss_after) / window_seconds : kNoValue;
  (bp ? bp_rates : rates).push_back(rate);
  (bp ? bp_seconds : seconds) += window_seconds;
  (bp ? bp_batches : batches) += window_batches;
}

Figures Round::figures(double confidence) const {
  Figures out{mean_of(rates),
              mean_of(bp_rates),
              kNoValue,
              kNoValue,
              kNoValue,
              per_batch(seconds, batches),
              per_batch(bp_seconds, bp_batches),
              static_cast<int64_t>(std::min(rates.size(), bp_rates.size()))};
  std::vector<double> differences;
  for (size_t i = 0; i < static_cast<size_t>(out.pairs); ++i) {
    differences.push_back(rates[i] - bp_rates[i]);
  }
  out.advantage = mean_of(differences);
  if (out.pairs < 2) return out;
  const auto n = static_cast<double>(out.pairs);
  double squares = 0;
  for (const double d : differences) squares += (d - out.advantage) * (d - out.advantage);
  const double half =
      core::student_t_quantile(confidence, n - 1) * std::sqrt(squares / (n - 1) / n);
  out.low = out.advantage - half;
  out.high = out.advantage + half;
  return out;
}

std::optional<Figures> Round::outcome(int64_t pairs, double confidence) const {
  const Figures now = figures(confidence);
  const auto broken = [](double rate) { return !std::isfinite(rate); };
  if (std::any_of(rates.begin(), rates.end(), broken) ||
      std::any_of(bp_rates.begin(), bp_rates.end(), broken)) {
    return now;
  }
  if (rates.size() != bp_rates.size()) return {};
  if (now.pairs >= pairs || (now.pairs >= kFewestPairs && now.high < 0)) return now;
  return {};
}

}  // namespace adagp::method
