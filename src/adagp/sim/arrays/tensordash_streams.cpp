#include "adagp/sim/arrays/tensordash_streams.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "adagp/base/core/rng.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/arrays/tensordash_schedule.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::arrays {
namespace {

using accel::ceil_div;
using accel::Pass;

// Groups of `rows` vectors, which `fill(vector, lines)` writes.
template <typename Fill>
SampledCycles run_groups(int64_t vectors, int64_t lines, const accel::TensorDashSizes& sizes,
                         Order order, std::vector<uint16_t>& buffer, const Fill& fill) {
  const int64_t stride = lines + kLookahead;
  buffer.resize(static_cast<size_t>(sizes.rows * stride));
  SampledCycles out;
  for (int64_t first = 0; first < vectors; first += sizes.rows) {
    const int64_t count = std::min(sizes.rows, vectors - first);
    for (int64_t i = 0; i < count; ++i) {
      uint16_t* const line = buffer.data() + i * stride;
      fill(first + i, line);
      line[lines] = line[lines + 1] = 0;
    }
    out.base += lines;
    out.cycles += scheduled_cycles(buffer, count, lines, order);
  }
  return out;
}

class Sampler {
 public:
  Sampler(const layers::Row& row, const accel::ZeroBits& bits, const accel::TensorDashSizes& sizes)
      : row_(row),
        axes_(layers::axes_of(row)),
        bits_(bits),
        sizes_(sizes),
        order_(parse_order(sizes.order)) {}

  std::vector<SampledCycles> run(Pass pass, bool left_sparse) {
    if (pass == Pass::kForward) return {left_sparse ? forward_x() : forward_w()};
    if (pass == Pass::kWeightGradient) return {weight_gradient(left_sparse)};
    std::vector<SampledCycles> out;
    packed_ = left_sparse ? pack(bits_, row_.groups) : pack_filters(bits_, row_.groups);
    for (const Phase& phase : phases_of(row_)) {
      out.push_back(left_sparse ? input_gradient_dy(phase) : input_gradient_w(phase));
    }
    return out;
  }

 private:
  template <typename Fill>
  SampledCycles each_group(int64_t vectors, int64_t lines, const Fill& fill) {
    SampledCycles sum;
    for (int64_t group = 0; group < row_.groups; ++group) {
      const SampledCycles one =
          run_groups(vectors, lines, sizes_, order_, buffer_,
                     [&](int64_t vector, uint16_t* line) { fill(group, vector, line); });
      sum.base += one.base;
      sum.cycles += one.cycles;
    }
    return sum;
  }

  void copy_pixel(int64_t group, int64_t example, int64_t y, int64_t x, uint16_t*& line) const {
    const int64_t height = bits_.outer[1], width = bits_.outer[2];
    if (y < 0 || y >= height || x < 0 || x >= width) {
      std::fill_n(line, packed_.blocks, uint16_t{0});
    } else {
      std::copy_n(packed_.at((example * height + y) * width + x, group), packed_.blocks, line);
    }
    line += packed_.blocks;
  }

  SampledCycles forward_x() {
    packed_ = pack(bits_, row_.groups);
    const layers::Axis &h = axes_[1], &w = axes_[2];
    // A linear layer's positions may lie along either axis.
    const bool flat = row_.op == "linear";
    const int64_t windows = flat ? bits_.outer[1] * bits_.outer[2] : h.output * w.output;
    const int64_t lines = h.kernel * w.kernel * packed_.blocks;
    return each_group(
        bits_.outer[0] * windows, lines, [&](int64_t group, int64_t vector, uint16_t* line) {
          if (flat) {
            std::copy_n(packed_.at(vector, group), packed_.blocks, line);
            return;
          }
          const int64_t example = vector / windows, pixel = vector % windows;
          const int64_t y = pixel / w.output * h.stride - h.padding;
          const int64_t x = pixel % w.output * w.stride - w.padding;
          for (int64_t r = 0; r < h.kernel; ++r) {
            for (int64_t q = 0; q < w.kernel; ++q) {
              copy_pixel(group, example, y + r * h.dilation, x + q * w.dilation, line);
            }
          }
        });
  }

  SampledCycles forward_w() {
    packed_ = pack(bits_, 1);
    const int64_t filters = bits_.outer[0] / row_.groups;
    const int64_t lines = bits_.outer[1] * bits_.outer[2] * packed_.blocks;
    return each_group(filters, lines, [&](int64_t group, int64_t vector, uint16_t* line) {
      const int64_t filter = group * filters + vector;
      std::copy_n(packed_.lines.data() + filter * lines, lines, line);
    });
  }

  SampledCycles input_gradient_dy(const Phase& phase) {
    const layers::Axis &h = axes_[1], &w = axes_[2];
    const bool flat = row_.op == "linear";
    const int64_t points = flat ? bits_.outer[1] * bits_.outer[2] : phase.points();
    const int64_t lines = phase.positions() * packed_.blocks;
    return each_group(bits_.outer[0] * points, lines,
                      [&](int64_t group, int64_t vector, uint16_t* line) {
                        if (flat) {
                          std::copy_n(packed_.at(vector, group), packed_.blocks, line);
                          return;
                        }
                        const int64_t example = vector / points, point = vector % points;
                        const int64_t y = point / phase.points_w * h.stride + phase.h + h.padding;
                        const int64_t x = point % phase.points_w * w.stride + phase.w + w.padding;
                        for (const int64_t r : phase.rows) {
                          for (const int64_t q : phase.columns) {
                            // Negative numbers are multiples of the stride, too: the division is
                            // exact.
                            copy_pixel(group, example, (y - r * h.dilation) / h.stride,
                                       (x - q * w.dilation) / w.stride, line);
                          }
                        }
                      });
  }

  SampledCycles input_gradient_w(const Phase& phase) {
    const int64_t channels = bits_.channels, width = bits_.outer[2];
    return each_group(channels, phase.positions() * packed_.blocks,
                      [&](int64_t group, int64_t channel, uint16_t* line) {
                        for (const int64_t r : phase.rows) {
                          for (const int64_t q : phase.columns) {
                            const int64_t at = (r * width + q) * channels + channel;
                            line = std::copy_n(packed_.at(at, group), packed_.blocks, line);
                          }
                        }
                      });
  }

  // Pixels of one image that a kernel position sees, in the order of the outputs; -1: padding.
  std::vector<int64_t> seen_pixels(int64_t r, int64_t q) const {
    const layers::Axis &h = axes_[1], &w = axes_[2];
    std::vector<int64_t> out;
    for (int64_t e = 0; e < h.output; ++e) {
      for (int64_t f = 0; f < w.output; ++f) {
        const int64_t y = e * h.stride - h.padding + r * h.dilation;
        const int64_t x = f * w.stride - w.padding + q * w.dilation;
        const bool inside = y >= 0 && y < h.input && x >= 0 && x < w.input;
        out.push_back(inside ? y * w.input + x : -1);
      }
    }
    return out;
  }

  // Lines of 16 pixels for each channel of a group.
  void turn(const std::vector<int64_t>& pixels, int64_t first, int64_t group, int64_t lines) {
    const int64_t stride = lines + kLookahead;
    const auto count = static_cast<int64_t>(pixels.size());
    turned_.assign(static_cast<size_t>(packed_.blocks * kLanes * stride), 0);
    for (int64_t t = 0; t < lines; ++t) {
      const int64_t end = std::min<int64_t>(kLanes, count - t * kLanes);
      for (int64_t block = 0; block < packed_.blocks; ++block) {
        std::array<uint16_t, kLanes> square{};
        for (int64_t i = 0; i < end; ++i) {
          const int64_t pixel = pixels[static_cast<size_t>(t * kLanes + i)];
          if (pixel >= 0) square[static_cast<size_t>(i)] = packed_.at(first + pixel, group)[block];
        }
        transpose16(square);
        for (int64_t c = 0; c < kLanes; ++c) {
          turned_[static_cast<size_t>((block * kLanes + c) * stride + t)] =
              square[static_cast<size_t>(c)];
        }
      }
    }
  }

  SampledCycles weight_gradient(bool left_sparse) {
    packed_ = pack(bits_, row_.groups);
    const bool flat = row_.op == "linear";
    const int64_t pixels = bits_.outer[1] * bits_.outer[2];
    std::vector<std::vector<int64_t>> views;
    if (flat || !left_sparse) {
      std::vector<int64_t> all(static_cast<size_t>(flat ? bits_.rows() : pixels));
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
      views.push_back(std::move(all));
    } else {
      for (int64_t r = 0; r < axes_[1].kernel; ++r) {
        for (int64_t q = 0; q < axes_[2].kernel; ++q) views.push_back(seen_pixels(r, q));
      }
    }
    const int64_t own = bits_.channels / row_.groups;
    const auto lines = ceil_div(static_cast<int64_t>(views[0].size()), kLanes);
    SampledCycles sum;
    for (int64_t example = 0; example < (flat ? 1 : bits_.outer[0]); ++example) {
      for (const auto& view : views) {
        for (int64_t group = 0; group < row_.groups; ++group) {
          turn(view, example * pixels, group, lines);
          for (int64_t channel = 0; channel < own; channel += sizes_.rows) {
            const int64_t count = std::min(sizes_.rows, own - channel);
            const int64_t stride = lines + kLookahead;
            const std::span<uint16_t> streams(turned_.data() + channel * stride,
                                              static_cast<size_t>(count * stride));
            sum.base += lines;
            sum.cycles += scheduled_cycles(streams, count, lines, order_);
          }
        }
      }
    }
    return sum;
  }

  const layers::Row& row_;
  const std::array<layers::Axis, 3> axes_;
  const accel::ZeroBits& bits_;
  const accel::TensorDashSizes& sizes_;
  const Order order_;
  PackedLines packed_;
  std::vector<uint16_t> buffer_, turned_;
};

}  // namespace

std::vector<SampledCycles> sampled_cycles(const layers::Row& row, accel::Pass pass,
                                          const accel::ZeroBits& bits, bool left_sparse,
                                          const accel::TensorDashSizes& sizes) {
  return Sampler(row, bits, sizes).run(pass, left_sparse);
}

double drawn_cycles_per_line(int64_t lines, double density, const accel::TensorDashSizes& sizes) {
  if (density >= 1 || lines == 0) return 1;
  // Longer streams have the same speed-up to a thousandth.
  constexpr int64_t kMostLines = 400, kLeastLines = 8000;
  lines = std::min(lines, kMostLines);
  core::Rng random(core::mix({static_cast<uint64_t>(lines), std::bit_cast<uint64_t>(density),
                              static_cast<uint64_t>(sizes.rows)}));
  const Order order = parse_order(sizes.order);
  const int64_t stride = lines + kLookahead;
  std::vector<uint16_t> streams(static_cast<size_t>(sizes.rows * stride));
  int64_t base = 0, cycles = 0;
  while (base < kLeastLines) {
    for (int64_t row = 0; row < sizes.rows; ++row) {
      for (int64_t t = 0; t < stride; ++t) {
        uint16_t line = 0;
        for (int lane = 0; lane < kLanes && t < lines; ++lane) {
          if (random.uniform() < density) line |= static_cast<uint16_t>(1 << lane);
        }
        streams[static_cast<size_t>(row * stride + t)] = line;
      }
    }
    base += lines;
    cycles += scheduled_cycles(streams, sizes.rows, lines, order);
  }
  return static_cast<double>(cycles) / static_cast<double>(base);
}

}  // namespace adagp::arrays
