#pragma once
// Procrustes (Yang et al., MICRO 2020): PEs that multiply only the weights that are not zero.
//
// Mapping kn: filters along the rows of the array, examples along the columns; a PE holds a tile of
// two filters (one where there are no more) by as many channels as its registers hold, and the PEs
// of a row share it. A chip tile (one tile for each row) takes as long as its fullest tile.
// Balanced, the two halves of all tiles are sorted and the fullest is paired with the emptiest.
//   dense   ceil(K/rows) * ceil(N/columns) * C*R*S * P*Q
//   sparse  sum over chip tiles of its fullest tile's non-zeros, times P*Q * ceil(N/columns)
// Mapping ck: channels along the rows, filters along the columns; no balancing.
// Forward pass and input gradient skip zeros of the weights, the weight gradient those of X, which
// are taken to be spread evenly.

#include <cstdint>
#include <span>
#include <vector>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/operands.h"
#include "adagp/sim/arrays/draws.h"

namespace adagp::arrays {

// The work of a chip tile: halves 2i and 2i+1 belong to PE i.
int64_t fullest_tile(std::span<const int64_t> halves);
int64_t fullest_balanced_tile(std::vector<int64_t> halves);

// Non-zeros of each (filter, channel) pair over the kernel.
struct PairCounts {
  int64_t filters = 0, channels = 0, kernel = 1;
  std::vector<int32_t> counts;  // [filter][channel]

  int32_t at(int64_t filter, int64_t channel) const {
    return counts[static_cast<size_t>(filter * channels + channel)];
  }
};
// Of weights [out, kh, kw, in of a group]. `reversed`: as the input gradient sees them, input
// channels for filters.
PairCounts count_pairs(const accel::ZeroBits& w, int64_t groups, bool reversed);

struct WeightCycles {
  int64_t dense = 0, sparse = 0;  // in units of one output pixel of one group of examples
};
WeightCycles weight_cycles(const PairCounts& pairs, const accel::Array& array,
                           const accel::ProcrustesMapping& mapping);
// The same where only the share of non-zeros is known: independent zeros are drawn, fixed by the
// arguments.
WeightCycles drawn_weight_cycles(int64_t filters, int64_t channels, int64_t kernel, double density,
                                 const accel::Array& array, const accel::ProcrustesMapping& mapping,
                                 Draws* draws = nullptr);

// Mapping ck: channels that a PE holds at a time.
int64_t ck_channels(int64_t channels, int64_t kernel, const accel::Array& array,
                    const accel::ProcrustesMapping& mapping);

}  // namespace adagp::arrays
