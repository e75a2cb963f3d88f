#pragma once
// Operands of a network: from a trace, or the same share of zeros or the same widths in all layers.

#include <string>
#include <vector>

#include "adagp/sim/accel/operands.h"
#include "adagp/sim/accel/work.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/arrays/trace.h"
#include "adagp/sim/layers/table.h"

namespace adagp::arrays {

struct Sparsity {
  double x = 0, dy = 0, w = 0;  // shares of zeros
};
// "x=0.5,dy=0,w=0.9"; what is left out is 0. Throws UsageError.
Sparsity parse_sparsity(const std::string& text);

struct Widths {
  int w = 4, a = 4, g = 4;  // mantissa bits of weights, activations, gradients
};
// "w=2,a=2,g=4"; what is left out is 4. Throws UsageError for widths that are not modelled.
Widths parse_widths(const std::string& text);

// Of one weight layer.
struct LayerOperands {
  accel::Operand x, dy, w;

  accel::Operands of(accel::Pass pass) const;
};

// One entry for each row. Rows without weights have dense operands.
std::vector<LayerOperands> operands_of(const layers::Table& table, const Sparsity& sparsity);
std::vector<LayerOperands> operands_of(const layers::Table& table, const Widths& widths);
// Bits point into `trace`, which must outlive them. Throws DataError where the machine needs what
// the trace does not have.
std::vector<LayerOperands> operands_of(const layers::Table& table, const Trace& trace, Reads reads);

// Whether a trace is one of a network.

// Whether a row has operands that a trace can hold (convolutions of two axes and linear layers).
bool is_traced(const layers::Row& row);
// Throws DataError naming the layers when the trace is of another network or lacks layers.
void check_trace(const Trace& trace, const layers::Table& table);

}  // namespace adagp::arrays
