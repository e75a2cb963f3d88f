#pragma once
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

#include <cstdint>
#include <vector>

#include "adagp/sim/accel/work.h"
#include "adagp/sim/layers/table.h"

namespace adagp::arrays {

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

}  // namespace adagp::arrays
