#pragma once
// One configuration of the machine in rtl/. Torch-free.

#include <cstdint>
#include <string>

#include "adagp/sim/rtl/machine_table.h"

namespace adagp::rtl {

// The program of mobilenet_v2 on design low has more than two million descriptors.
inline constexpr int kMaxDescriptorBits = 22;

struct Machine {
  Design design = Design::kBaseline;
  Format format = Format::kFixed;
  int rows = 12;  // output channels side by side
  int cols = 15;  // input channels side by side
  int pred_rows = 8;
  int pred_cols = 10;
  bool pred_three_modes = false;  // design max: the predictor's array learns, too
  // Address bits: a memory has 2^bits rows.
  int x_bits = kXAddressBits;
  int y_bits = kYAddressBits;
  int w_bits = kWAddressBits;
  int predictor_bits = kPredictorAddressBits;
  int descriptor_bits = kDescriptorAddressBits;

  bool has_predictor() const { return design != Design::kBaseline; }
  bool has_predictor_memory() const { return design >= Design::kEfficient; }
  bool has_predictor_array() const { return design == Design::kMax; }
  // The predictor is trained on the machine, by the array that runs it.
  bool learns() const { return has_predictor() && (!has_predictor_array() || pred_three_modes); }
  bool learns_beside() const { return has_predictor_array() && learns(); }
  int lanes() const;             // words of one DMA beat: the widest row of the machine
  int lanes_of(Buffer b) const;  // words of one row
  int address_bits(Buffer b) const;
  bool has(Buffer b) const;
};

// Throws UsageError for an array of 0, more than 255 lanes (`rot` has 8 bits) or address bits that
// the descriptors cannot hold.
void check(const Machine& machine);

Design design_named(const std::string& name);  // throws UsageError with the list of names
Format format_named(const std::string& name);

}  // namespace adagp::rtl
