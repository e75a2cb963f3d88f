#pragma once
// Layers and zero bits for tests.

#include "adagp/base/core/rng.h"
#include "adagp/sim/accel/operands.h"
#include "adagp/sim/layers/table.h"

namespace adagp::arrays::test {

inline accel::ZeroBits made_bits(std::array<int64_t, 3> outer, int64_t channels, double density,
                                 uint64_t seed) {
  core::Rng random(seed);
  accel::ZeroBits out;
  out.outer = outer;
  out.channels = channels;
  out.bytes.assign(static_cast<size_t>(out.rows() * out.row_bytes()), 0);
  for (int64_t row = 0; row < out.rows(); ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      if (random.uniform() < density) {
        out.bytes[static_cast<size_t>(row * out.row_bytes() + c / 8)] |=
            static_cast<uint8_t>(1 << c % 8);
      }
    }
  }
  return out;
}

struct ConvSizes {
  int64_t channels = 16, filters = 16, height = 6, width = 6, kernel = 3, stride = 1, padding = 1,
          groups = 1, dilation = 1;
};

inline layers::Row conv_row(const ConvSizes& s) {
  layers::Row row;
  row.name = "conv";
  row.op = "conv2d";
  row.input = {s.channels, s.height, s.width};
  const auto out = [&](int64_t in) {
    return (in + 2 * s.padding - s.dilation * (s.kernel - 1) - 1) / s.stride + 1;
  };
  row.output = {s.filters, out(s.height), out(s.width)};
  row.kernel = {s.kernel, s.kernel};
  row.stride = {s.stride, s.stride};
  row.padding = {s.padding, s.padding};
  row.dilation = {s.dilation, s.dilation};
  row.groups = s.groups;
  layers::complete(row);
  return row;
}

inline layers::Row linear_row(int64_t in, int64_t out) {
  layers::Row row;
  row.name = "fc";
  row.op = "linear";
  row.input = {in, 1, 1};
  row.output = {out, 1, 1};
  layers::complete(row);
  return row;
}

}  // namespace adagp::arrays::test
