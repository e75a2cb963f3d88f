// Energy of operands that take parts of a word.

#include "adagp/sim/arrays/pass_cost.h"

#include <gtest/gtest.h>

#include "adagp/sim/accel/work.h"

namespace adagp::arrays {
namespace {

// Everything fits the buffer: 100x3 and 3x5 words come in, 100x5 go out.
TEST(PassCost, DramWordsOfEachOperandHaveItsShare) {
  const accel::Work work = accel::gemm_work({100, 3, 5});
  accel::Accelerator a;
  a.buffer_bytes = 0;
  a.word_bytes = 2;
  const double word = 16 * a.energy.dram_pj_per_bit * 1e-12;
  const auto dram = [&](const WordShares& shares) {
    return pass_cost(work, {}, a, 0, shares).energy.dram;
  };
  EXPECT_DOUBLE_EQ(dram({}), (300 + 15 + 500) * word);
  EXPECT_DOUBLE_EQ(dram({0, 1, 1}), (15 + 500) * word);
  EXPECT_DOUBLE_EQ(dram({1, 0, 1}), (300 + 500) * word);
  EXPECT_DOUBLE_EQ(dram({0.5, 0.25, 2}), (150 + 3.75 + 1000) * word);
}

}  // namespace
}  // namespace adagp::arrays
