#include "adagp/sim/rtl/machine.h"

#include <algorithm>

#include "adagp/base/core/error.h"

namespace adagp::rtl {

int Machine::lanes() const {
  return std::max({rows, cols, pred_rows, pred_cols});
}

int Machine::lanes_of(Buffer b) const {
  switch (b) {
    case Buffer::kX:
    case Buffer::kD:
      return cols;
    case Buffer::kPx:
      return has_predictor_array() ? pred_cols : cols;
    case Buffer::kPd:
      return pred_cols;
    case Buffer::kPy:
    case Buffer::kPw:
    case Buffer::kPg:
    case Buffer::kPo:
      return pred_rows;
    default:
      return rows;
  }
}

int Machine::address_bits(Buffer b) const {
  switch (b) {
    case Buffer::kX:
    case Buffer::kD:
      return x_bits;
    case Buffer::kY:
    case Buffer::kG:
    case Buffer::kPy:
    case Buffer::kPg:
      return y_bits;
    case Buffer::kPx:
    case Buffer::kPd:
      return predictor_bits;
    default:
      return w_bits;
  }
}

bool Machine::has(Buffer b) const {
  switch (b) {
    case Buffer::kPx:
      return has_predictor_memory();
    case Buffer::kPy:
    case Buffer::kPw:
      return has_predictor_array();
    case Buffer::kPg:
    case Buffer::kPd:
    case Buffer::kPo:
      return learns_beside();
    default:
      return true;
  }
}

void check(const Machine& machine) {
  for (const int size : {machine.rows, machine.cols, machine.pred_rows, machine.pred_cols})
    if (size < 1 || size > 255)
      throw UsageError("rtl: an array of " + std::to_string(machine.rows) + "x" +
                       std::to_string(machine.cols) + " (predictor " +
                       std::to_string(machine.pred_rows) + "x" + std::to_string(machine.pred_cols) +
                       "): rows and columns must be 1 to 255");
  for (const int bits : {machine.x_bits, machine.y_bits, machine.w_bits, machine.predictor_bits})
    if (bits < 1 || bits > 16)
      throw UsageError("rtl: a memory with " + std::to_string(bits) +
                       " address bits: 1 to 16 are possible");
  if (machine.descriptor_bits < 1 || machine.descriptor_bits > kMaxDescriptorBits)
    throw UsageError("rtl: a program memory with " + std::to_string(machine.descriptor_bits) +
                     " address bits: 1 to " + std::to_string(kMaxDescriptorBits) + " are possible");
}

namespace {

template <typename Enum, std::size_t N>
Enum named(const char* const (&names)[N], const std::string& name, const char* what) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
    known += (i ? ", " : "") + std::string(names[i]);
  }
  throw UsageError(std::string("rtl: no ") + what + " '" + name + "': choose one of " + known);
}

}  // namespace

Design design_named(const std::string& name) {
  return named<Design>(kDesignNames, name, "design");
}
Format format_named(const std::string& name) {
  return named<Format>(kFormatNames, name, "format");
}

}  // namespace adagp::rtl
