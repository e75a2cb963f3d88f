#include "adagp/results/report/stats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "adagp/base/core/text.h"

namespace adagp::report {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

constexpr int kUnjudged = -1, kWaiting = -2;

bool dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] < b[i]) return false;
    better = better || a[i] > b[i];
  }
  return better;
}

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

std::string clock_note(const std::string& what, double least, double most) {
  constexpr double kQuiet = 1.1;
  if (!(most > kQuiet * least)) return "";
  return core::cat(what, " takes ", core::fixed(least, 2), " to ", core::fixed(most, 2),
                   " s. The machine was busy with other things, or the runs are too short to time: "
                   "do not trust what is said of seconds.");
}

std::string hardware_note(const std::vector<std::string>& hardware) {
  if (hardware.size() < 2) return "";
  return "The runs were on unlike devices (" + core::join(hardware, "; ") +
         "), whose seconds are not compared.";
}

std::vector<int> pareto_layers(const std::vector<std::vector<double>>& values) {
  std::vector<int> layers;
  for (const auto& one : values) {
    const bool judged =
        std::all_of(one.begin(), one.end(), [](double value) { return std::isfinite(value); });
    layers.push_back(judged ? kWaiting : kUnjudged);
  }
  for (int layer = 0; std::count(layers.begin(), layers.end(), kWaiting) > 0; ++layer) {
    std::vector<size_t> best;
    for (size_t i = 0; i < values.size(); ++i) {
      bool beaten = layers[i] != kWaiting;
      for (size_t j = 0; j < values.size() && !beaten; ++j) {
        beaten = layers[j] == kWaiting && dominates(values[j], values[i]);
      }
      if (!beaten) best.push_back(i);
    }
    for (const size_t i : best) layers[i] = layer;
  }
  return layers;
}

}  // namespace adagp::report
