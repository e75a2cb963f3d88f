#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "adagp/gpu/cuda/optim/dropback.h"

namespace adagp::cuda {
namespace {

struct Dropped {
  std::vector<at::Tensor> weights, first, low;
  std::vector<ParamSlot> slots;
  float scale = 0.5F, threshold = 0, least = 0;
  int64_t kept = 0;

  explicit Dropped(const std::vector<int64_t>& counts) {
    for (const int64_t count : counts) {
      weights.push_back(at::randn({count}));
      first.push_back(at::randn({count}));
      low.push_back(at::zeros({count}, at::kBFloat16));
    }
  }
  DropArgs args(int64_t keep) {
    slots.clear();
    for (size_t i = 0; i < weights.size(); ++i) {
      ParamSlot slot;
      slot.weight = weights[i].mutable_data_ptr<float>();
      slot.first = first[i].mutable_data_ptr<float>();
      slot.low = low[i].mutable_data_ptr();
      slot.count = weights[i].numel();
      slots.push_back(slot);
    }
    DropArgs out;
    out.slots = slots.data();
    out.count = static_cast<int64_t>(slots.size());
    out.scale = &scale;
    out.keep = keep;
    out.threshold = &threshold;
    out.least = &least;
    out.kept = &kept;
    return out;
  }
  at::Tensor distance() const { return (at::cat(weights) - scale * at::cat(first)).abs(); }
};

TEST(DropReference, ThresholdIsTheNextLargestDistance) {
  at::manual_seed(1);
  for (const int64_t keep : {0, 1, 17, 99, 100, 1000}) {
    Dropped d({60, 0, 39, 1});
    reference::drop_threshold(d.args(keep));
    const at::Tensor sorted = std::get<0>(d.distance().sort(0, true));
    EXPECT_EQ(d.threshold, keep < 100 ? sorted[keep].item<float>() : -1) << keep;
    const at::Tensor before = at::cat(d.weights), stays = d.distance().gt(d.threshold);
    reference::drop_apply(d.args(keep));
    EXPECT_EQ(d.kept, std::min<int64_t>(keep, 100));
    EXPECT_TRUE(
        at::equal(at::cat(d.weights), at::where(stays, before, d.scale * at::cat(d.first))));
    EXPECT_TRUE(at::equal(at::cat(d.low), at::cat(d.weights).to(at::kBFloat16)));
  }
}

TEST(DropReference, OfEqualDistancesNoneStays) {
  Dropped d({10});
  d.weights[0].fill_(2);
  d.first[0].fill_(1);
  d.weights[0][3] = 5;
  reference::drop_threshold(d.args(4));
  reference::drop_apply(d.args(4));
  EXPECT_EQ(d.kept, 1);  // never more than asked for
  EXPECT_EQ(d.weights[0][3].item<float>(), 5);
  EXPECT_EQ(d.weights[0][4].item<float>(), 0.5F);
}

TEST(DropReference, MarkedWeightsNeverFallBack) {
  Dropped d({10});
  d.first[0][7] = std::numeric_limits<float>::quiet_NaN();
  d.least = std::numeric_limits<float>::infinity();
  const float before = d.weights[0][7].item<float>();
  reference::drop_threshold(d.args(1));
  EXPECT_TRUE(std::isfinite(d.threshold));
  reference::drop_apply(d.args(1));
  EXPECT_EQ(d.weights[0][7].item<float>(), before);
  EXPECT_EQ(d.kept, 1);
}

}  // namespace
}  // namespace adagp::cuda
