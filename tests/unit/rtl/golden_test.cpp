// The golden model against hand-computed numbers, and the generated table against its source.
#include <gtest/gtest.h>

#include <cstdlib>

#include "arithmetic.h"
#include "rtl/golden.h"

namespace adagp::rtl {
namespace {

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

TEST(Arithmetic, FixedRoundsToEvenAndSaturates) {
  const auto round = [](std::int32_t x, int shift) {
    return static_cast<std::int16_t>(
        narrowed(Format::kFixed, static_cast<std::uint32_t>(x), shift));
  };
  EXPECT_EQ(round(5, 1), 2);    // 2.5
  EXPECT_EQ(round(7, 1), 4);    // 3.5
  EXPECT_EQ(round(-5, 1), -2);  // -2.5
  EXPECT_EQ(round(11, 2), 3);   // 2.75
  EXPECT_EQ(round(40000, 0), 32767);
  EXPECT_EQ(round(-40000, 0), -32768);
  EXPECT_EQ(mac_fixed(0x8000, 0x8000, 0x7fffffff), 0xbfffffffu);  // wraps
}

TEST(Arithmetic, FloatHasNoSubnormalsAndNoNan) {
  const std::uint32_t infinity = 0x7f800000u, minus_infinity = 0xff800000u;
  EXPECT_EQ(float_add(bits(1.5f), bits(2.25f)), bits(3.75f));
  EXPECT_EQ(float_add(bits(1.0f), bits(-1.0f)), 0u);
  EXPECT_EQ(float_add(0x80000000u, 0x80000000u), 0u);                // -0 - 0 = +0
  EXPECT_EQ(float_add(0x00000001u, bits(0.0f)), 0u);                 // a subnormal operand
  EXPECT_EQ(float_add(0x00800001u, 0x80800000u), 0u);                // a subnormal result
  EXPECT_EQ(float_add(0x7f7fffffu, 0x7f7fffffu), infinity);          // overflow
  EXPECT_EQ(float_add(infinity, minus_infinity), infinity);          // the first wins
  EXPECT_EQ(float_add(0x7fc00000u, bits(1.0f)), infinity);           // NaN counts as infinity
  EXPECT_EQ(mac_bf16(0x0000, 0x7f80, bits(3.0f)), bits(3.0f));       // 0 x infinity = 0
  EXPECT_EQ(mac_bf16(0x3fc0, 0xc000, bits(3.0f)), 0u);               // 1.5 x -2 + 3
  EXPECT_EQ(narrowed(Format::kBf16, bits(1.00390625f), 0), 0x3f80);  // halfway, to even
  EXPECT_EQ(narrowed(Format::kBf16, bits(1.01171875f), 0), 0x3f82);
  EXPECT_EQ(narrowed(Format::kBf16, bits(3.0f), 1), 0x3fc0);  // 1.5
}

// X = [[1,4],[5,2]], W = [[2,3],[0,1]], dY = [[3,4],[1,2]].
TEST(Golden, ThreeModesOnTwoByTwo) {
  Machine m;
  m.rows = m.cols = m.pred_rows = m.pred_cols = 2;
  Golden golden(m, 1);
  const std::uint32_t x[2][2] = {{1, 4}, {5, 2}}, w[2][2] = {{2, 3}, {0, 1}},
                      g[2][2] = {{3, 4}, {1, 2}};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      golden.at(Buffer::kX, i, j) = x[i][j];
      golden.at(Buffer::kW, i, j) = w[i][j];
      golden.at(Buffer::kG, i, j) = g[i][j];
    }
  Program program;
  for (const Mode mode : {Mode::kForward, Mode::kDx, Mode::kDw}) {
    Descriptor d;
    d.op = static_cast<std::uint32_t>(Op::kTile);
    d.mask = kEveryPhase;
    d.mode = static_cast<std::uint32_t>(mode);
    d.load_w = mode == Mode::kForward;  // the weights stay for dx
    d.clear = d.drain = mode == Mode::kDw;
    d.n0 = 2;
    d.n1 = d.n2 = d.s0 = 1;
    program.push_back(d);
  }
  Descriptor end;
  end.op = static_cast<std::uint32_t>(Op::kEnd);
  end.mask = kEveryPhase;
  program.push_back(end);
  golden.run(program, {});
  const std::uint32_t y[2][2] = {{2, 7}, {10, 17}}, dx[2][2] = {{18, 4}, {8, 2}},
                      dw[2][2] = {{8, 14}, {14, 20}};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      EXPECT_EQ(golden.at(Buffer::kY, i, j), y[i][j]);
      EXPECT_EQ(golden.at(Buffer::kD, i, j), dx[i][j]);
      EXPECT_EQ(golden.at(Buffer::kO, i, j), dw[i][j]);
    }
}

TEST(Table, GeneratedFilesAreFresh) {
  const std::string command =
      std::string(ADAGP_PYTHON) + " " + ADAGP_SOURCE_DIR + "/rtl/tools/table.py --check";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace adagp::rtl
