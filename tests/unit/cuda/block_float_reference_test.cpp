#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "adagp/gpu/cuda/conv/block_float.h"

namespace adagp::cuda {
namespace {

struct Rounded {
  int32_t bits = 4;
  Rounding rounding = Rounding::kNearest;
  int64_t seed = 1;
  uint64_t tag = 0;
  int window = -1;

  at::Tensor operator()(const at::Tensor& x, int64_t outer, int64_t length, int64_t inner,
                        at::ScalarType type = at::kFloat) const {
    at::Tensor out = at::full(x.sizes(), 77, type);
    BlockFloatArgs args;
    args.in = x.const_data_ptr();
    args.out = out.mutable_data_ptr();
    args.in_type = x.scalar_type() == at::kFloat ? Type::kFloat : Type::kBFloat16;
    args.out_type = type == at::kFloat ? Type::kFloat : Type::kBFloat16;
    args.outer = outer;
    args.length = length;
    args.inner = inner;
    args.bits = &bits;
    args.rounding = rounding;
    args.seed = &seed;
    args.tag = tag;
    const float largest = x.abs().max().item<float>();
    if (window >= 0) {
      args.largest = &largest;
      args.window = window;
    }
    reference::block_float(args);
    return out;
  }
  at::Tensor group(const at::Tensor& x) const { return (*this)(x, 1, x.numel(), 1); }
};

TEST(BlockFloatReference, WorkedGroup) {
  const at::Tensor x = at::tensor({1., -0.75, 0.375, 0.125, 3.5, -2.2, 0.6, 0.05}).to(at::kFloat);
  const Rounded two{2, Rounding::kTruncate}, four{4, Rounding::kTruncate};
  EXPECT_TRUE(at::equal(two.group(x), at::tensor({1., 0., 0., 0., 3., -2., 0., 0.}).to(x.dtype())));
  EXPECT_TRUE(
      at::equal(four.group(x), at::tensor({1., -0.75, 0.25, 0., 3.5, -2., 0.5, 0.}).to(x.dtype())));
}

// Of all numbers that a group can hold, none is nearer.
TEST(BlockFloatReference, NearestIsTheClosestOfAll) {
  at::manual_seed(2);
  for (const int32_t bits : {1, 2, 3, 4, 7}) {
    for (int i = 0; i < 20; ++i) {
      const at::Tensor x = at::randn({16}) * std::pow(2.0, i * 7 - 60);
      const at::Tensor y = Rounded{bits}.group(x);
      const int exponent = std::ilogb(x.abs().max().item<float>());
      for (int64_t j = 0; j < 16; ++j) {
        const double value = x[j].item<double>();
        double best = std::numeric_limits<double>::infinity();
        for (int k = 0; k < 1 << bits; ++k) {
          const double candidate = k * std::ldexp(1.0, exponent - (bits - 1));
          best = std::min(best, std::fabs(std::fabs(value) - candidate));
        }
        EXPECT_EQ(std::fabs(y[j].item<double>() - value), best) << bits << " " << value;
      }
    }
  }
}

// Over every value of the eight random bits the mean is the number itself, where it is a multiple
// of a 256th of the quantum.
TEST(BlockFloatReference, StochasticRoundingIsUnbiasedExactly) {
  at::manual_seed(3);
  for (const int32_t bits : {2, 3, 4}) {
    const double quantum = std::ldexp(1.0, -(bits - 1));
    // The first holds the exponent; all below the largest multiple, which nothing is rounded above.
    at::Tensor x = (at::randint(0, ((1 << bits) - 1) * 256, {16}).to(at::kFloat) * (quantum / 256))
                       .contiguous();
    x[0] = 1;
    x[5] = -x[5];
    std::vector<std::set<int>> seen(16);
    std::vector<double> sums(16, 0);
    for (int64_t seed = 0; seed < 20000; ++seed) {
      const at::Tensor y = Rounded{bits, Rounding::kStochastic, seed, 9}.group(x);
      for (int64_t j = 0; j < 16; ++j) {
        const uint64_t bytes =
            random_bytes(static_cast<uint64_t>(seed), 9, static_cast<uint64_t>(j) / 8);
        const int u = static_cast<int>(bytes >> (8 * (j % 8)) & 0xFFU);
        if (seen[static_cast<size_t>(j)].insert(u).second) {
          sums[static_cast<size_t>(j)] += y[j].item<double>();
        }
      }
    }
    for (size_t j = 0; j < 16; ++j) {
      ASSERT_EQ(seen[j].size(), 256U);  // all of them came
      EXPECT_EQ(sums[j] / 256, x[static_cast<int64_t>(j)].item<double>()) << bits << " " << j;
    }
  }
}

TEST(BlockFloatReference, GroupsAreAlongTheirAxisAndOfSixteen) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({3, 37, 5});
  const at::Tensor across = Rounded{3}(x, 3, 37, 5);
  const at::Tensor moved = x.permute({0, 2, 1}).contiguous();
  EXPECT_TRUE(at::equal(Rounded{3}(moved, 15, 37, 1).permute({0, 2, 1}), across));
  // The second group of a row by itself.
  const at::Tensor part = moved[1][2].slice(0, 16, 32).contiguous();
  EXPECT_TRUE(at::equal(Rounded{3}.group(part), across[1].select(1, 2).slice(0, 16, 32)));
  EXPECT_FALSE(at::equal(across, x));
}

TEST(BlockFloatReference, ManyBitsKeepEverythingNearTheLargest) {
  at::manual_seed(5);
  const at::Tensor x = at::rand({16}) + 1;  // one exponent
  EXPECT_TRUE(at::equal((Rounded{24, Rounding::kTruncate}.group(x)), x));
  EXPECT_TRUE(at::equal((Rounded{24, Rounding::kNearest}.group(x)), x));
  const at::Tensor wide = at::randn({16});
  EXPECT_TRUE(at::equal((Rounded{0}.group(wide)), wide));
  const at::Tensor got = Rounded{24}.group(wide);
  EXPECT_LT((got - wide).abs().max().item<double>(), wide.abs().max().item<double>() * 6e-8);
}

TEST(BlockFloatReference, Bf16HoldsEightBits) {
  at::manual_seed(6);
  const at::Tensor x = at::randn({4, 48});
  for (const int32_t bits : {2, 4, 8}) {
    EXPECT_TRUE(at::equal(Rounded{bits}(x, 4, 48, 1, at::kBFloat16).to(at::kFloat),
                          Rounded{bits}(x, 4, 48, 1)));
  }
  const at::Tensor low = x.to(at::kBFloat16);
  EXPECT_TRUE(at::equal(Rounded{3}(low, 4, 48, 1), Rounded{3}(low.to(at::kFloat), 4, 48, 1)));
}

TEST(BlockFloatReference, ZerosInfinitiesAndTinyNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(at::equal(Rounded{}.group(at::zeros({16})), at::zeros({16})));
  const at::Tensor broken = at::tensor({1.3F, kInfinity, -0.1F});
  EXPECT_TRUE(at::equal(Rounded{2}.group(broken), broken));
  const at::Tensor nan = Rounded{2}.group(at::tensor({1.3F, NAN}));
  EXPECT_TRUE(std::isnan(nan[1].item<float>()));
  EXPECT_EQ(Rounded{2}.group(at::full({3}, 1e-40F)).abs().max().item<float>(), 0);
  const float smallest = std::numeric_limits<float>::min();
  EXPECT_EQ(Rounded{2}.group(at::full({1}, smallest))[0].item<float>(), smallest);
}

// With two exponent bits a group lies at most three binary orders below the largest number.
TEST(BlockFloatReference, AWindowOfExponentsCutsWhatIsSmall) {
  at::Tensor x = at::full({32}, 1 / 64.0);
  x[0] = 1;
  x[20] = 3 / 64.0;
  const at::Tensor free = Rounded{4}(x, 1, 32, 1);
  EXPECT_EQ(free[20].item<float>(), 3 / 64.0F);
  // The exponent of the second group becomes -3, its quantum 2^-6.
  const at::Tensor cut = Rounded{4, Rounding::kTruncate, 1, 0, 3}(x, 1, 32, 1);
  EXPECT_EQ(cut[20].item<float>(), 3 / 64.0F);
  const at::Tensor fewer = Rounded{2, Rounding::kTruncate, 1, 0, 3}(x, 1, 32, 1);
  EXPECT_EQ(fewer[20].item<float>(), 0);  // its quantum is 2^-4
}

}  // namespace
}  // namespace adagp::cuda
