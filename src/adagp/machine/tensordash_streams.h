#pragma once
// The streams of a layer's three products on TensorDash, from the bits of a trace.
//
//   pass             lines of a dot product                    vectors: sparse side | other side
//   forward          kh*kw*ceil(C/16), channels fastest        windows of X | filters, or reversed
//   input gradient   ceil(filters/16) times the kernel         windows of dY | channels, or
//   reversed
//                    positions that meet values: a stride s cuts the kernel into s*s parts
//   weight gradient  ceil(E*F/16) per image, pixels fastest    channels of X per kernel position |
//                                                              filters, or the two reversed
// Of a linear layer's weight gradient the examples (and positions) are the pixels. The operand with
// more zeros is the sparse side; it is scheduled, and the other follows. Zeros of padding are
// zeros.

#include <cstdint>
#include <vector>

#include "adagp/accel/accelerator.h"
#include "adagp/accel/operands.h"
#include "adagp/accel/work.h"
#include "adagp/layers/table.h"

namespace adagp::machine {

// Streams of one kind. A tile takes `rows` vectors at a time; each group runs as often as the other
// side's vectors fill the columns of all tiles.
struct StreamClass {
  int64_t lines = 0;
  int64_t vectors = 0;        // of the batch
  int64_t other_vectors = 0;  // of the batch
  int64_t repeats = 1;  // equal groups of vectors that do not share tiles: images, channels ...
};

struct SampledCycles {
  int64_t base = 0, cycles = 0;  // of the sampled groups, without the factor of the other side
};

// The shapes of the streams alone. `left_sparse`: X, dY, X are scheduled, else W, W, dY.
std::vector<StreamClass> stream_classes(const layers::Row& row, const accel::Work& work,
                                        int64_t batch, bool left_sparse);

// Cycles of all streams of the trace, one entry for each class of stream_classes().
std::vector<SampledCycles> sampled_cycles(const layers::Row& row, accel::Pass pass,
                                          const accel::ZeroBits& bits, bool left_sparse,
                                          const accel::TensorDashSizes& sizes);

}  // namespace adagp::machine
