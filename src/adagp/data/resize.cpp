#include "adagp/data/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace adagp::data {
namespace {

// The input positions first .. first + weights.size() - 1 that make one output position.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Taps> triangle_taps(int64_t in, int64_t full_out, int64_t begin, int64_t count) {
  const double scale = static_cast<double>(in) / static_cast<double>(full_out);
  const double support = std::max(scale, 1.0);
  std::vector<Taps> all(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(begin + i) + 0.5) * scale;
    const auto low = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5));
    const auto high = std::min<int64_t>(in, static_cast<int64_t>(centre + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = low; j < high; ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - centre) / support;
      weights.push_back(std::max(0.0, 1.0 - distance));
      sum += weights.back();
    }
    auto& taps = all[static_cast<size_t>(i)];
    taps.first = low;
    for (const double w : weights) taps.weights.push_back(static_cast<float>(w / sum));
  }
  return all;
}

}  // namespace

void resize(const PixelView& source, const ResizePlan& plan, uint8_t* out) {
  const auto columns = triangle_taps(source.width, plan.full_width, plan.left, plan.width);
  const auto rows = triangle_taps(source.height, plan.full_height, plan.top, plan.height);
  const int64_t first = rows.front().first;
  const int64_t last = rows.back().first + static_cast<int64_t>(rows.back().weights.size());

  // Across, for the input rows that are needed: [last - first, width, 3].
  std::vector<float> across(static_cast<size_t>((last - first) * plan.width * 3));
  float* a = across.data();
  for (int64_t y = first; y < last; ++y) {
    for (const auto& taps : columns) {
      const uint8_t* p = source.rgb + y * source.stride + taps.first * 3;
      float red = 0, green = 0, blue = 0;
      for (const float w : taps.weights) {
        red += w * static_cast<float>(*p++);
        green += w * static_cast<float>(*p++);
        blue += w * static_cast<float>(*p++);
      }
      *a++ = red;
      *a++ = green;
      *a++ = blue;
    }
  }

  // Down.
  const int64_t row_values = plan.width * 3;
  std::vector<float> sums(static_cast<size_t>(row_values));
  for (const auto& taps : rows) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    const float* line = across.data() + (taps.first - first) * row_values;
    for (const float w : taps.weights) {
      for (float& sum : sums) sum += w * *line++;
    }
    for (const float sum : sums) {
      *out++ = static_cast<uint8_t>(std::clamp(std::round(sum), 0.0F, 255.0F));
    }
  }
}

}  // namespace adagp::data
