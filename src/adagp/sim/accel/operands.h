#pragma once
// What the two operands of a product are made of, beside their shapes. An array needs none of it;
// machines that skip zeros or multiply few bits do (sim/arrays).

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace adagp::accel {

// One bit a value, 1 = not zero, packed along the channels: value i of a row of channels is bit
// i % 8 of byte i / 8, and each row starts a new byte.
struct ZeroBits {
  // Examples, height, width of an activation or a gradient; filters, kernel height, kernel width of
  // weights.
  std::array<int64_t, 3> outer{0, 0, 0};
  int64_t channels = 0;  // of weights: inputs of one group
  std::vector<uint8_t> bytes;

  bool empty() const { return bytes.empty(); }
  int64_t rows() const { return outer[0] * outer[1] * outer[2]; }
  int64_t row_bytes() const { return (channels + 7) / 8; }
  bool at(int64_t row, int64_t channel) const {
    return (bytes[static_cast<size_t>(row * row_bytes() + channel / 8)] >> (channel % 8) & 1) != 0;
  }
};

struct Operand {
  double density = 1;              // share of the values that are not zero
  int mantissa = 0;                // bits; 0: what the machine has without its trick
  const ZeroBits* bits = nullptr;  // of a sample, where a trace has them
};

// Left and right as in Tensors: X and W, dY and W, X and dY.
struct Operands {
  Operand left, right;
  // in-place: of so many folds the weights are still in the PEs; none: of all.
  std::optional<int64_t> kept_folds;
};

}  // namespace adagp::accel
