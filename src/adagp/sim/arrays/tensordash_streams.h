#pragma once
// The streams of a layer on TensorDash, and their cycles: from the bits of a trace, or drawn. Zeros
// of padding are zeros.

#include <cstdint>
#include <vector>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/operands.h"
#include "adagp/sim/accel/work.h"
#include "adagp/sim/layers/table.h"

namespace adagp::arrays {

// The shapes of the streams of a layer's three products on TensorDash.
//
//   pass             lines of a dot product               vectors: sparse side | other side
//   forward          kh*kw*ceil(C/16), channels fastest   windows of X | filters
//   input gradient   ceil(filters/16) times the kernel    windows of dY | channels
//                    positions that meet values: a stride s cuts the kernel into s*s parts
//   weight gradient  ceil(E*F/16) per image, pixels       channels of X per kernel position |
//                    fastest                              filters
// Where the right operand has more zeros, the two sides are reversed. Of a linear layer's weight
// gradient the examples (and positions) are the pixels. The sparse side is scheduled, and the other
// follows.

// Streams of one kind. A tile takes `rows` vectors at a time; each group runs as often as the other
// side's vectors fill the columns of all tiles.
struct StreamClass {
  int64_t lines = 0;
  int64_t vectors = 0;        // of the batch
  int64_t other_vectors = 0;  // of the batch
  int64_t repeats = 1;  // equal groups of vectors that do not share tiles: images, channels ...
};

// `left_sparse`: X, dY, X are scheduled, else W, W, dY.
std::vector<StreamClass> stream_classes(const layers::Row& row, const accel::Work& work,
                                        int64_t batch, bool left_sparse);

// The parts into which a stride cuts an input gradient.

// One of the s*s parts into which a stride cuts the input gradient.
struct Phase {
  int64_t h, w;
  std::vector<int64_t> rows, columns;  // kernel positions
  int64_t points_h, points_w;          // input points

  int64_t positions() const { return static_cast<int64_t>(rows.size() * columns.size()); }
  int64_t points() const { return points_h * points_w; }
};
// Those that meet values at all.
std::vector<Phase> phases_of(const layers::Row& row);

struct SampledCycles {
  int64_t base = 0, cycles = 0;  // of the sampled groups, without the factor of the other side
};

// Of all streams of the trace, one entry for each class of stream_classes().
std::vector<SampledCycles> sampled_cycles(const layers::Row& row, accel::Pass pass,
                                          const accel::ZeroBits& bits, bool left_sparse,
                                          const accel::TensorDashSizes& sizes);

// TensorDash on streams whose zeros are drawn independently: what is known without a trace.

// Scheduled cycles per line of about 8,000 lines of streams of this length (at most 400), fixed by
// the arguments. Real zeros cluster by channel; independent ones are easier to schedule.
double drawn_cycles_per_line(int64_t lines, double density, const accel::TensorDashSizes& sizes);

}  // namespace adagp::arrays
