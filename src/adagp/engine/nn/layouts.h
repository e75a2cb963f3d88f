#pragma once
// In which memory layout a CPU computes the products of a convolution (docs/performance.md, CPU).

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace adagp::nn {

// kChannelsLast: the operands as the network has them. kContiguous: copies of them in contiguous
// memory; the result is copied back, so that nothing outside the product sees the difference.
enum class Layout { kChannelsLast, kContiguous };
enum class Product { kForward, kInputGradient, kWeightGradient };

inline constexpr std::array<Layout, 2> kLayouts{Layout::kChannelsLast, Layout::kContiguous};
inline constexpr std::array<Product, 3> kProducts{Product::kForward, Product::kInputGradient,
                                                  Product::kWeightGradient};

constexpr size_t index_of(Layout layout) {
  return static_cast<size_t>(layout);
}
constexpr size_t index_of(Product product) {
  return static_cast<size_t>(product);
}
std::string name_of(Layout layout);    // "channels-last", "contiguous"
std::string name_of(Product product);  // "forward", "input-gradient", "weight-gradient"

// Without the number of examples: a choice holds for batches of all sizes.
struct ConvolutionShape {
  int64_t in = 0, height = 0, width = 0, out = 0;
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the 0 of a comparison for a pointer
  auto operator<=>(const ConvolutionShape&) const = default;
};
// "64 -> 128, 16x16, 3x3", then what is not usual: ", stride 2x2, padding 0x0, groups 64".
std::string describe(const ConvolutionShape& shape);

struct LayoutChoice {
  Layout chosen = Layout::kChannelsLast;
  std::array<double, kLayouts.size()> ms{};  // by layout, as measured; 0: not measured

  bool operator==(const LayoutChoice&) const = default;
};
using LayoutChoices = std::array<LayoutChoice, kProducts.size()>;  // by product

class LayoutTable {
 public:
  // `other`: for shapes that add() was not called for.
  explicit LayoutTable(Layout other = Layout::kChannelsLast) : other_(other) {}

  void add(const ConvolutionShape& shape, const LayoutChoices& choices) {
    choices_[shape] = choices;
  }
  Layout at(const ConvolutionShape& shape, Product product) const {
    const auto found = choices_.find(shape);
    return found == choices_.end() ? other_ : found->second[index_of(product)].chosen;
  }
  const std::map<ConvolutionShape, LayoutChoices>& choices() const { return choices_; }

 private:
  Layout other_;
  std::map<ConvolutionShape, LayoutChoices> choices_;
};

}  // namespace adagp::nn
