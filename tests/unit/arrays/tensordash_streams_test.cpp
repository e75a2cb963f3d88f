// Which values meet in which line: streams written down from the definition of each product, bit by
// bit, take the same cycles as the packed ones.

#include "adagp/sim/arrays/tensordash_streams.h"

#include <gtest/gtest.h>

#include <functional>

#include "adagp/sim/accel/work.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/arrays/tensordash_schedule.h"
#include "unit/arrays/made_traces.h"

namespace adagp::arrays {
namespace {

using accel::Pass;
using accel::ZeroBits;
using test::ConvSizes;

using Lane = std::function<bool(int64_t)>;  // value i of a vector

// Cycles of vectors that are lists of blocks; each block starts a new line.
class PlainTile {
 public:
  explicit PlainTile(int64_t rows) : rows_(rows) {}

  void begin_vector() {
    if (static_cast<int64_t>(vectors_.size()) == rows_) flush();
    vectors_.emplace_back();
  }
  void block(int64_t length, const Lane& lane) {
    for (int64_t first = 0; first < length; first += 16) {
      uint16_t line = 0;
      for (int64_t i = first; i < std::min(length, first + 16); ++i) {
        if (lane(i)) line |= static_cast<uint16_t>(1 << (i - first));
      }
      vectors_.back().push_back(line);
    }
  }
  // No vector of what follows shares a tile with those before.
  void flush() {
    if (vectors_.empty()) return;
    const auto lines = static_cast<int64_t>(vectors_[0].size());
    std::vector<uint16_t> buffer;
    for (auto& vector : vectors_) {
      buffer.insert(buffer.end(), vector.begin(), vector.end());
      buffer.insert(buffer.end(), {0, 0});
    }
    sum.base += lines;
    sum.cycles +=
        scheduled_cycles(buffer, static_cast<int64_t>(vectors_.size()), lines, Order::kPaper);
    vectors_.clear();
  }

  SampledCycles sum;

 private:
  int64_t rows_;
  std::vector<std::vector<uint16_t>> vectors_;
};

// A value of an activation or gradient; outside is zero.
bool value_at(const ZeroBits& bits, int64_t n, int64_t y, int64_t x, int64_t c) {
  if (y < 0 || x < 0 || y >= bits.outer[1] || x >= bits.outer[2]) return false;
  return bits.at((n * bits.outer[1] + y) * bits.outer[2] + x, c);
}

struct Layer {
  ConvSizes size;
  layers::Row row;
  ZeroBits x, dy, w;
};

Layer made_layer(const ConvSizes& size, uint64_t seed) {
  Layer out{size, test::conv_row(size), {}, {}, {}};
  const int64_t examples = 3;
  out.x = test::made_bits({examples, size.height, size.width}, size.channels, 0.4, seed);
  out.dy = test::made_bits({examples, out.row.output[1], out.row.output[2]}, size.filters, 0.3,
                           seed + 1);
  out.w = test::made_bits({size.filters, size.kernel, size.kernel}, size.channels / size.groups,
                          0.2, seed + 2);
  return out;
}

SampledCycles plain_forward(const Layer& l, bool of_x, int64_t rows) {
  const ConvSizes& s = l.size;
  const int64_t own = s.channels / s.groups, filters = s.filters / s.groups;
  PlainTile tile(rows);
  for (int64_t g = 0; g < s.groups; ++g) {
    for (int64_t v = 0; v < (of_x ? l.x.outer[0] * l.row.output[1] * l.row.output[2] : filters);
         ++v) {
      tile.begin_vector();
      const int64_t f = v % l.row.output[2], e = v / l.row.output[2] % l.row.output[1];
      const int64_t n = v / (l.row.output[1] * l.row.output[2]);
      for (int64_t r = 0; r < s.kernel; ++r) {
        for (int64_t q = 0; q < s.kernel; ++q) {
          tile.block(own, [&](int64_t c) {
            if (!of_x) return l.w.at(((g * filters + v) * s.kernel + r) * s.kernel + q, c);
            return value_at(l.x, n, e * s.stride - s.padding + r * s.dilation,
                            f * s.stride - s.padding + q * s.dilation, g * own + c);
          });
        }
      }
    }
    tile.flush();
  }
  return tile.sum;
}

// The input gradient scatters: dX[y][x] gets W[r][q] dY[e][f] wherever e*s - p + r*d = y.
std::vector<SampledCycles> plain_input_gradient(const Layer& l, bool of_dy, int64_t rows) {
  const ConvSizes& s = l.size;
  const int64_t own = s.channels / s.groups, filters = s.filters / s.groups;
  std::vector<SampledCycles> out;
  for (int64_t py = 0; py < std::min(s.stride, s.height); ++py) {
    for (int64_t px = 0; px < std::min(s.stride, s.width); ++px) {
      const auto meets = [&](int64_t at, int64_t k) {
        return ((at + s.padding - k * s.dilation) % s.stride + s.stride) % s.stride == 0;
      };
      PlainTile tile(rows);
      bool any = false;
      for (int64_t g = 0; g < s.groups; ++g) {
        const auto stream = [&](int64_t n, int64_t y, int64_t x, int64_t c) {
          tile.begin_vector();
          for (int64_t r = 0; r < s.kernel; ++r) {
            for (int64_t q = 0; q < s.kernel; ++q) {
              if (!meets(py, r) || !meets(px, q)) continue;
              any = true;
              tile.block(filters, [&](int64_t m) {
                if (!of_dy) return l.w.at(((g * filters + m) * s.kernel + r) * s.kernel + q, c);
                const int64_t up = y + s.padding - r * s.dilation;
                const int64_t left = x + s.padding - q * s.dilation;
                if (up < 0 || left < 0) return false;
                return value_at(l.dy, n, up / s.stride, left / s.stride, g * filters + m);
              });
            }
          }
        };
        if (of_dy) {
          for (int64_t n = 0; n < l.dy.outer[0]; ++n) {
            for (int64_t y = py; y < s.height; y += s.stride) {
              for (int64_t x = px; x < s.width; x += s.stride) stream(n, y, x, 0);
            }
          }
        } else {
          for (int64_t c = 0; c < own; ++c) stream(0, 0, 0, c);
        }
        tile.flush();
      }
      if (any) out.push_back(tile.sum);
    }
  }
  return out;
}

SampledCycles plain_weight_gradient(const Layer& l, bool of_x, int64_t rows) {
  const ConvSizes& s = l.size;
  const int64_t width = l.row.output[2], pixels = l.row.output[1] * width;
  const int64_t own = (of_x ? s.channels : s.filters) / s.groups;
  PlainTile tile(rows);
  for (int64_t n = 0; n < l.x.outer[0]; ++n) {
    for (int64_t k = 0; k < (of_x ? s.kernel * s.kernel : 1); ++k) {
      for (int64_t g = 0; g < s.groups; ++g) {
        for (int64_t c = g * own; c < (g + 1) * own; ++c) {
          tile.begin_vector();
          tile.block(pixels, [&](int64_t i) {
            const int64_t e = i / width, f = i % width;
            if (!of_x) return value_at(l.dy, n, e, f, c);
            return value_at(l.x, n, e * s.stride - s.padding + k / s.kernel * s.dilation,
                            f * s.stride - s.padding + k % s.kernel * s.dilation, c);
          });
        }
        tile.flush();
      }
    }
  }
  return tile.sum;
}

TEST(TensorDashStreams, EqualTheDefinitionBitByBit) {
  const ConvSizes layers[] = {{16, 32, 6, 6, 3, 1, 1, 1, 1},  {3, 20, 9, 7, 3, 2, 1, 1, 1},
                              {24, 8, 8, 8, 1, 2, 0, 1, 1},   {12, 24, 7, 7, 3, 1, 2, 2, 2},
                              {16, 16, 5, 5, 3, 2, 1, 16, 1}, {40, 36, 11, 11, 5, 3, 2, 4, 1}};
  uint64_t seed = 1;
  for (const ConvSizes& size : layers) {
    const Layer l = made_layer(size, seed += 10);
    for (const int64_t rows : {1, 4, 5}) {
      accel::TensorDashSizes sizes;
      sizes.rows = rows;
      const auto expect = [&](const char* what, const std::vector<SampledCycles>& got,
                              const std::vector<SampledCycles>& plain) {
        ASSERT_EQ(got.size(), plain.size()) << what;
        for (size_t i = 0; i < got.size(); ++i) {
          EXPECT_EQ(got[i].base, plain[i].base) << what << " of " << l.row.input[0];
          EXPECT_EQ(got[i].cycles, plain[i].cycles) << what << " of " << l.row.input[0];
        }
      };
      for (const bool left : {true, false}) {
        expect("forward", sampled_cycles(l.row, Pass::kForward, left ? l.x : l.w, left, sizes),
               {plain_forward(l, left, rows)});
        expect("input gradient",
               sampled_cycles(l.row, Pass::kInputGradient, left ? l.dy : l.w, left, sizes),
               plain_input_gradient(l, left, rows));
        expect("weight gradient",
               sampled_cycles(l.row, Pass::kWeightGradient, left ? l.x : l.dy, left, sizes),
               {plain_weight_gradient(l, left, rows)});
      }
    }
  }
}

// The classes of a batch of as many examples as the trace has count the lines that the trace has.
TEST(TensorDashStreams, ClassesCountTheSampledLines) {
  const Layer l = made_layer({20, 36, 7, 5, 3, 2, 1, 2, 1}, 3);
  accel::TensorDashSizes sizes;
  const accel::Work forward = accel::forward_work(l.row, l.x.outer[0]);
  const accel::Work works[] = {forward, accel::input_gradient_work(forward, l.row),
                               accel::weight_gradient_work(forward, l.row)};
  for (const accel::Work& work : works) {
    for (const bool left : {true, false}) {
      const ZeroBits& bits = work.pass == Pass::kForward         ? (left ? l.x : l.w)
                             : work.pass == Pass::kInputGradient ? (left ? l.dy : l.w)
                                                                 : (left ? l.x : l.dy);
      const auto classes = stream_classes(l.row, work, l.x.outer[0], left);
      const auto sampled = sampled_cycles(l.row, work.pass, bits, left, sizes);
      ASSERT_EQ(classes.size(), sampled.size());
      for (size_t i = 0; i < classes.size(); ++i) {
        const StreamClass& c = classes[i];
        EXPECT_EQ((c.vectors + sizes.rows - 1) / sizes.rows * c.lines * c.repeats, sampled[i].base);
      }
    }
  }
}

TEST(TensorDash, AllOnesTakeTheBaseCyclesExactly) {
  // No padding and full lines: every lane of every line has a pair.
  const ConvSizes size{32, 48, 6, 6, 3, 1, 0, 1, 1};
  const layers::Row row = test::conv_row(size);
  accel::Accelerator a;
  const int64_t examples = 4;
  const ZeroBits x = test::made_bits({examples, 6, 6}, 32, 1, 1);
  const ZeroBits dy = test::made_bits({examples, 4, 4}, 48, 1, 1);
  const ZeroBits w = test::made_bits({48, 3, 3}, 32, 1, 1);
  const accel::Work forward = accel::forward_work(row, 8);
  const std::pair<accel::Work, accel::Operands> passes[] = {
      {forward, {{1, 0, &x}, {1, 0, &w}, {}}},
      {accel::weight_gradient_work(forward, row), {{1, 0, &x}, {1, 0, &dy}, {}}}};
  for (const auto& [work, operands] : passes) {
    const Product product{row, work, 8};
    EXPECT_EQ(kTensorDash.cost(product, operands, a).array,
              kTensorDash.dense(product, operands, a).array);
    EXPECT_EQ(kTensorDash.cost(product, operands, a).macs, accel::macs(work));
  }
  // forward: 8 images of 16 windows in rows of 4, 9 positions of 2 lines, 48 filters in 64 columns
  EXPECT_EQ(kTensorDash.dense({row, forward, 8}, passes[0].second, a).array, 32 * 18);
}

TEST(TensorDash, EnergyOfComputationFollowsTheCyclesWithItsOverhead) {
  const layers::Row row = test::conv_row({});
  accel::Accelerator a;
  const accel::Work work = accel::forward_work(row, 16);
  accel::Operands operands;
  operands.left.density = 0.4;
  const Product product{row, work, 16};
  const accel::PassCost with = kTensorDash.cost(product, operands, a);
  const accel::PassCost without = kTensorDash.dense(product, operands, a);
  const double share = static_cast<double>(with.array) / static_cast<double>(without.array);
  EXPECT_LT(share, 0.7);
  EXPECT_NEAR(with.energy.mac, without.energy.mac * share * 1.032, 1e-12 * without.energy.mac);
  EXPECT_EQ(with.energy.buffer, without.energy.buffer);
  EXPECT_EQ(with.energy.dram, without.energy.dram);
}

}  // namespace
}  // namespace adagp::arrays
