#include "adagp/gpu/cuda/optim/dropback.h"

#include <limits>
#include <memory>

#include "gpu/kernels/norm_fixture.h"

namespace adagp::test {
namespace {

class DropKernel : public KernelTest {};

struct Weights {
  Weights(const std::vector<float>& of_weight, const std::vector<float>& of_first, size_t shifted)
      : weight(of_weight),
        first(of_first),
        low(of_weight.size()),
        count(of_weight.size() - 4),  // four behind the end that must stay as they are
        shift(shifted) {}
  Floats weight, first;
  Both<uint16_t> low;
  size_t count, shift;  // where the arrays begin: 0 is aligned
};

struct DropCase {
  std::vector<std::unique_ptr<Weights>> weights;
  Floats scale{std::vector<float>{0.7F}}, threshold{1}, least{1};
  Both<int64_t> kept{1};
  Both<uint8_t> workspace{static_cast<size_t>(cuda::drop_workspace())};
  std::vector<cuda::ParamSlot> slots;

  void add(size_t count, size_t shift, unsigned seed, bool equal) {
    auto weight = normal(count + 4, seed), first = normal(count + 4, seed + 1);
    if (equal) {  // many equal distances, many zeros
      for (size_t i = 0; i < weight.size(); ++i) {
        weight[i] = static_cast<float>(i % 3);
        first[i] = 0;
      }
    }
    weights.push_back(std::make_unique<Weights>(weight, first, shift));
  }
  cuda::DropArgs args(bool kernel, int64_t keep) {
    slots.clear();
    for (size_t i = 0; i < weights.size(); ++i) {
      Weights& w = *weights[i];
      cuda::ParamSlot slot;
      slot.weight = w.weight.at(kernel) + w.shift;
      slot.first = w.first.at(kernel) + w.shift;
      slot.low = i % 2 == 0 ? w.low.at(kernel) + w.shift : nullptr;
      slot.count = static_cast<int64_t>(w.count);
      slots.push_back(slot);
    }
    cuda::DropArgs out;
    out.slots = slots.data();
    out.count = static_cast<int64_t>(slots.size());
    out.scale = scale.at(kernel);
    out.keep = keep;
    out.threshold = threshold.at(kernel);
    out.least = least.at(kernel);
    out.kept = kept.at(kernel);
    out.workspace = workspace.at(kernel);
    return out;
  }
  void expect_same(int64_t keep) {
    cuda::reference::drop_threshold(args(false, keep));
    cuda::drop_threshold(args(true, keep), nullptr);
    EXPECT_EQ(threshold.device.host()[0], threshold.host[0]) << keep;
    cuda::reference::drop_apply(args(false, keep));
    cuda::drop_apply(args(true, keep), nullptr);
    EXPECT_EQ(kept.device.host()[0], kept.host[0]) << keep;
    for (const auto& w : weights) {
      EXPECT_EQ(w->weight.device.host(), w->weight.host) << keep;  // selections: no tolerance
      EXPECT_EQ(w->low.device.host(), w->low.host) << keep;
    }
  }
};

TEST_F(DropKernel, IsItsReference) {
  for (const bool equal : {false, true}) {
    for (const int64_t keep : {0, 1, 500, 20'000, 113'000, 10'000'000}) {
      DropCase c;
      unsigned seed = 1;
      for (const size_t count : {1UL, 3UL, 4096UL, 70'000UL, 33'333UL, 7'000UL}) {
        c.add(count, seed % 3, seed, equal);
        seed += 2;
      }
      c.expect_same(keep);
      c.expect_same(keep / 2);  // the workspace is as it was: the next step works too
    }
  }
}

TEST_F(DropKernel, TakesMoreWeightsThanOneLaunch) {
  DropCase c;
  for (unsigned i = 0; i < 700; ++i) c.add(50 + i % 7, 0, i, false);
  c.expect_same(9'000);
}

TEST_F(DropKernel, MarkedWeightsNeverFallBack) {
  DropCase c;
  c.add(5'000, 0, 3, false);
  auto first = c.weights[0]->first.host;
  for (size_t i = 0; i < first.size(); i += 10) first[i] = std::numeric_limits<float>::quiet_NaN();
  c.weights[0] = std::make_unique<Weights>(c.weights[0]->weight.host, first, 0);
  c.expect_same(500);
  EXPECT_EQ(c.kept.host[0], 500);
}

}  // namespace
}  // namespace adagp::test
