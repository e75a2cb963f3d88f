#include "adagp/results/report/pareto.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace adagp::report {
namespace {

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
