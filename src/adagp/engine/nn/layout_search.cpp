#include "adagp/engine/nn/layout_search.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include <ATen/ATen.h>

#include "adagp/engine/nn/products.h"

namespace adagp::nn {
namespace {

constexpr int kLeastTries = 5, kMostTries = 100;
constexpr double kLeastMs = 20;  // short products are tried until this time is spent
// On a busy machine the first tries may all be slow: it goes on until some tries in a row have made
// no layout's best time better, but not longer than this.
constexpr int kCalmTries = 4;
constexpr double kRealGain = 0.02, kMostMs = 3000;
constexpr double kHopeless = 3;  // after kLeastTries, a layout that takes so many times the best

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

LayoutChoice compare_layouts(const std::function<void(Layout)>& compute) {
  LayoutChoice out;
  for (const Layout layout : kLayouts) compute(layout);  // memory is touched, oneDNN makes its code
  double spent = 0;
  int better = 0;  // the latest try that made a best time better
  const auto enough = [&](int tries) {
    if (tries < kLeastTries) return false;
    return spent > kMostMs || (spent > kLeastMs && tries - better > kCalmTries);
  };
  for (int i = 0; i < kMostTries && !enough(i); ++i) {
    const double best = *std::min_element(out.ms.begin(), out.ms.end());
    for (const Layout layout : kLayouts) {
      double& fastest = out.ms[index_of(layout)];
      if (i >= kLeastTries && fastest > kHopeless * best) continue;
      const double ms = milliseconds([&] { compute(layout); });
      if (i == 0 || ms < (1 - kRealGain) * fastest) better = i;
      fastest = i == 0 ? ms : std::min(fastest, ms);
      spent += ms;
    }
  }
  out.chosen = fastest_layout(out.ms);
  return out;
}

}  // namespace

Layout fastest_layout(const std::array<double, kLayouts.size()>& ms) {
  const double usual = ms[index_of(Layout::kChannelsLast)];
  Layout best = Layout::kChannelsLast;
  for (const Layout layout : kLayouts) {
    const double own = ms[index_of(layout)];
    if (own < (1 - kLeastGain) * usual && own < ms[index_of(best)]) best = layout;
  }
  return best;
}

LayoutChoices search_layouts(const ConvolutionShape& s, int64_t examples) {
  const at::NoGradGuard no_grad;
  const auto made_up = [](at::IntArrayRef sizes) {
    return at::empty(sizes, at::TensorOptions(at::kFloat), at::MemoryFormat::ChannelsLast)
        .fill_(0.5);
  };
  const at::Tensor x = made_up({examples, s.in, s.height, s.width});
  const at::Tensor weight = made_up({s.out, s.in / s.groups, s.kernel[0], s.kernel[1]});
  std::array<LayerInfo, kLayouts.size()> ways;
  for (const Layout layout : kLayouts) {
    LayerInfo& info = ways[index_of(layout)] = info_for(s);
    info.layouts = std::make_shared<LayoutTable>(layout);
  }
  const at::Tensor gradient = made_up(product(ways[0], x, weight, {}).sizes());
  const auto backward = [&](Layout layout, bool of_input) {
    gradients_of(ways[index_of(layout)], gradient, x, weight, {of_input, !of_input, false});
  };
  LayoutChoices out;
  out[index_of(Product::kForward)] =
      compare_layouts([&](Layout layout) { product(ways[index_of(layout)], x, weight, {}); });
  out[index_of(Product::kInputGradient)] =
      compare_layouts([&](Layout layout) { backward(layout, true); });
  out[index_of(Product::kWeightGradient)] =
      compare_layouts([&](Layout layout) { backward(layout, false); });
  return out;
}

}  // namespace adagp::nn
