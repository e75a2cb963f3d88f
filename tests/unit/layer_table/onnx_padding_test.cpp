// Paddings of convolutions: a table has one number for both sides, with which it must be read
// again.

#include <array>

#include <gtest/gtest.h>

#include "adagp/sim/layers/onnx.h"
#include "unit/layer_table/onnx_bytes.h"

namespace adagp::layers {
namespace {

using testing::OnnxAttributes;
using testing::OnnxBytes;

Row row_of(const std::string& op, int64_t side, int64_t kernel, const OnnxAttributes& attributes) {
  OnnxBytes made;
  made.input("x", {2, 4, side, side}).weight("w", {4, 4, kernel, kernel});
  made.node(op, {"x", "w"}, {"y"}, attributes);
  const Table table = parse_onnx(made.file(), "net", "net.onnx").table;
  EXPECT_EQ(table.rows.size(), 1);
  EXPECT_NO_THROW(from_csv(to_csv(table), "net.csv"));
  return table.rows.at(0);
}

using Pair = std::array<int64_t, 2>;

TEST(OnnxPadding, OfOneSideAloneCountsHalf) {
  const Row row = row_of("Conv", 8, 3, OnnxAttributes().integers("pads", {0, 0, 2, 2}));
  EXPECT_EQ(row.output[1], 8);
  EXPECT_EQ(row.padding, (Pair{1, 1}));
}

TEST(OnnxPadding, OddSumsAreRoundedSoThatTheOutputIsRight) {
  const auto strided = OnnxAttributes().integers("strides", {2, 2}).integers("pads", {0, 0, 1, 1});
  EXPECT_EQ(row_of("Conv", 8, 3, strided).padding, (Pair{1, 1}));
  EXPECT_EQ(row_of("Conv", 9, 3, strided).padding, (Pair{0, 0}));
}

TEST(OnnxPadding, OfATransposedConvolutionIsWhatItsOutputLacks) {
  const auto told = OnnxAttributes().integers("strides", {2, 2}).integers("output_shape", {16, 16});
  const Row by_output = row_of("ConvTranspose", 8, 3, told);
  EXPECT_EQ(by_output.output[1], 16);
  EXPECT_EQ(by_output.padding, (Pair{1, 1}));
  const auto same = OnnxAttributes().integers("strides", {2, 2}).text("auto_pad", "SAME_UPPER");
  EXPECT_EQ(row_of("ConvTranspose", 7, 4, same).output[1], 14);
  EXPECT_EQ(row_of("ConvTranspose", 7, 4, same).padding, (Pair{1, 1}));
  const auto more = OnnxAttributes()
                        .integers("strides", {2, 2})
                        .integers("pads", {1, 1, 1, 1})
                        .integers("output_padding", {1, 1});
  EXPECT_EQ(row_of("ConvTranspose", 8, 3, more).output[1], 16);
  EXPECT_EQ(row_of("ConvTranspose", 8, 3, more).padding, (Pair{1, 1}));
  const auto uneven = OnnxAttributes()
                          .integers("strides", {2, 2})
                          .integers("pads", {0, 0, 1, 1})
                          .integers("output_padding", {1, 1});
  EXPECT_EQ(row_of("ConvTranspose", 8, 3, uneven).output[1], 17);
}

}  // namespace
}  // namespace adagp::layers
