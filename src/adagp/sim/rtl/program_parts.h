#pragma once
// What network_program.cpp is made of: single descriptors, stages with double buffers, and where
// things lie in the memories.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "adagp/sim/rtl/network_program.h"

namespace adagp::rtl {

inline constexpr std::uint32_t kAllEngines = 31;
inline constexpr std::uint32_t kNotPredictor = kAllEngines & ~bit(Engine::kPred);
// Of the second array's work: the main array goes on with the next layer.
inline constexpr std::uint32_t kNotMain = kAllEngines & ~bit(Engine::kMain);
inline constexpr std::uint32_t kNotMainNorDma = kNotMain & ~bit(Engine::kDma);
inline constexpr std::uint32_t kExactPhases = bit(Phase::kBp) | bit(Phase::kWarm);
inline constexpr std::uint32_t kPredictedPhase = bit(Phase::kGp);
inline constexpr std::int64_t kPredictedRows = 1024;  // of Y or PY: gradients predicted at once
static_assert(kConvRows * kSide <= kPredictedRows);
inline constexpr std::int64_t kLargestTransfer = 65535;

// How many pieces of b cover a.
constexpr std::int64_t pieces(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Groups of `to` channels that `count` tiles of `from` channels reach, from tile `first` on, when
// their rows are regrouped.
constexpr std::int64_t groups_reached(std::int64_t first, std::int64_t count, std::int64_t from,
                                      std::int64_t to) {
  const std::int64_t last = (first + count - 1) * from;
  return last / to - first * from / to + pieces(from, to) + (last % to != 0 ? 1 : 0);
}

// A field's value; encode() and check() refuse what does not fit.
constexpr std::uint32_t narrow(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

// Places of the outside memory, in beats.
class Outside {
 public:
  std::int64_t take(std::int64_t beats) { return std::exchange(next_, next_ + beats); }
  std::int64_t size() const { return next_; }

 private:
  std::int64_t next_ = 0;
};

inline Descriptor descriptor(Op op, std::uint32_t mask, std::uint32_t wait) {
  Descriptor d;
  d.op = static_cast<std::uint32_t>(op);
  d.mask = mask;
  d.wait = wait;
  return d;
}

inline Descriptor rows_of(Descriptor d, std::int64_t rows) {
  d.n0 = narrow(rows);
  d.n1 = d.n2 = d.s0 = 1;
  return d;
}

inline Descriptor tile(std::uint32_t mask, Mode mode, std::int64_t rows) {
  Descriptor d = rows_of(descriptor(Op::kTile, mask, 0), rows);
  d.mode = static_cast<std::uint32_t>(mode);
  return d;
}

// On the second array, beside the main array and the DMA.
inline Descriptor beside_tile(std::uint32_t mask, Mode mode, std::int64_t rows) {
  Descriptor d = tile(mask, mode, rows);
  d.op = static_cast<std::uint32_t>(Op::kPtile);
  d.wait = kNotMainNorDma;
  return d;
}

inline Descriptor vec(std::uint32_t mask, VecKind kind, std::int64_t rows, std::uint32_t wait) {
  Descriptor d = rows_of(descriptor(Op::kVec, mask, wait), rows);
  d.kind = static_cast<std::uint32_t>(kind);
  return d;
}

inline Descriptor load(std::uint32_t mask, Buffer b, std::int64_t row, std::int64_t rows,
                       std::int64_t beat) {
  Descriptor d = descriptor(Op::kDma, mask, 0);
  d.kind = static_cast<std::uint32_t>(b);
  d.n0 = narrow(rows);
  d.xb = narrow(row);
  d.addr = narrow(beat);
  return d;
}

// Waits for the unit that wrote the rows.
inline Descriptor store(std::uint32_t mask, Buffer b, std::int64_t row, std::int64_t rows,
                        std::int64_t beat) {
  Descriptor d = load(mask, b, row, rows, beat);
  d.store = 1;
  d.wait = kNotPredictor;
  return d;
}

inline Descriptor waits(Descriptor d, std::uint32_t engines) {
  d.wait = engines;
  return d;
}

// Rows from `row` on, in as many transfers as their count needs.
inline void load_all(Program& out, std::uint32_t mask, Buffer b, std::int64_t row,
                     std::int64_t rows, std::int64_t beat) {
  for (std::int64_t done = 0; done < rows; done += kLargestTransfer) {
    out.push_back(load(mask, b, row + done, std::min(kLargestTransfer, rows - done), beat + done));
  }
}

inline void store_all(Program& out, std::uint32_t mask, Buffer b, std::int64_t row,
                      std::int64_t rows, std::int64_t beat) {
  for (std::int64_t done = 0; done < rows; done += kLargestTransfer) {
    out.push_back(store(mask, b, row + done, std::min(kLargestTransfer, rows - done), beat + done));
  }
}

// Transfers, and the tiles that need them.
struct Stage {
  std::vector<Descriptor> loads, tiles;
};

// The transfers of a stage run beside the tiles of the stage before: the halves that they fill were
// last read by the tiles before those, which are over when the first tile of a stage starts.
inline void emit(Program& out, std::vector<Stage>& stages) {
  for (size_t s = 0; s < stages.size(); ++s) {
    if (s == 0) {
      for (Descriptor d : stages[s].loads) {
        d.wait |= kNotPredictor;  // what the memories held before is done with
        out.push_back(d);
      }
    }
    // Spread over the tiles: the sequencer issues in order, and a transfer that waits for the one
    // before it would keep the tiles behind it waiting.
    const size_t tiles = stages[s].tiles.size();
    const size_t loads = s + 1 < stages.size() ? stages[s + 1].loads.size() : 0;
    for (size_t t = 0, next = 0; t < tiles; ++t) {
      Descriptor d = stages[s].tiles[t];
      if (t == 0) d.wait |= s == 0 ? kNotPredictor : bit(Engine::kDma);
      out.push_back(d);
      for (; next < loads * (t + 1) / tiles; ++next) {
        // An update beside the tiles (design max) writes W, too.
        out.push_back(stages[s + 1].loads[next]);
        out.back().wait |= bit(Engine::kVec);
      }
    }
  }
}

// A product of the predictor: its weights are a tile of `outputs` rows for each group of inputs.
// All rows lie outside; the first `kept` of each tile lie in the predictor's memory, too.
struct PredictorWeights {
  std::int64_t tiles = 0, outputs = 0, kept = 0;
  std::int64_t first = 0;    // in PX
  std::int64_t outside = 0;  // in beats

  bool holds(std::int64_t row, std::int64_t rows) const { return row + rows <= kept; }
  std::int64_t in_memory(std::int64_t tile, std::int64_t row) const {
    return first + tile * kept + row;
  }
  std::int64_t beat(std::int64_t tile, std::int64_t row) const {
    return outside + tile * outputs + row;
  }
};

// Throws UsageError when `user` needs more rows than the memory has.
void require_rows(const char* memory, const char* user, std::int64_t needed, std::int64_t rows,
                  const char* key);

// Rows of the memories and what they are for. The constructor throws UsageError for a memory that
// is too small.
struct Memories {
  Memories(const Machine& machine, const Network& network, Outside& outside);

  // Fills the predictor's memory with what it keeps.
  void load_predictor(Program& out) const;
  // max: stores the gradients that lie in PD, where PX has their weights.
  void store_gradients(Program& out) const;
  // The zeros and ones around maps and features, which nothing overwrites.
  void load_constants(Program& out) const;

  // Where the pooled cells of a tile of PROWS channels lie in PW (design max).
  std::int64_t pooled(std::int64_t channel_tile, bool odd) const {
    return (odd ? pooled_half : 0) + channel_tile * cell_rows;
  }

  // max: tiles of PROWS channels that the regrouped maps of a layer reach.
  static std::int64_t channel_tiles(const Machine& machine, const LayerProduct& layer);

  std::int64_t x_rows, x_half, y_rows, g_half;
  // low, efficient, of Y and G in the backward pass: the convolution's sums and their gradients.
  // Behind them lie predictions and errors.
  std::int64_t hidden() const { return y_rows - 2 * kPredictedRows; }
  // max, of PY and PG: predictions and errors of a block of channels, then the convolution's sums
  // of each of its tiles, or of one where Y is too small for them; slopes.
  bool hidden_stays() const { return (block_tiles + 1) * kPredictedRows <= y_rows; }
  std::int64_t beside_hidden(std::int64_t q) const {
    return (hidden_stays() ? q + 1 : 1) * kPredictedRows;
  }
  std::int64_t slopes() const { return y_rows - kPredictedRows; }
  // max: outputs that the predictor learns from at once. O, Y and PG hold them for a block of
  // channels, whose regrouped lanes reach one group further.
  std::int64_t learned_rows() const;
  std::int64_t w_half;                     // of the rows of W that feed the main array
  std::int64_t update_first, update_rows;  // of W, O, P and V
  std::int64_t cell_rows, feature_rows;    // a map and the features, with whole tiles at their ends
  std::int64_t scale_row = 0;              // of P: the scale of the layer at hand
  std::int64_t features = 0;               // low, efficient: cells and features in W
  std::int64_t hidden_features = 0;        // max: features in PW
  std::int64_t block_tiles = 0;            // max: of channels whose features are in PW together
  std::int64_t block_groups = 0;           // max: the same channels, in tiles of the main array
  std::int64_t pooled_tiles = 0, pooled_half = 0;  // max: maps in PW, of two layers in turn
  PredictorWeights conv, dense;                    // the predictor's two products
  std::int64_t constants = 0;  // outside: a map without cells, a row of ones, rows of zeros
  std::int64_t streamed = 0;   // max: two halves of PX (of PD) for weights that are not kept
  // Outside: the gradients of both products, in the layout of their weights.
  std::int64_t conv_gradients = 0, dense_gradients = 0;

 private:
  void keep(const Machine& machine);
  void require_room_beside(const Machine& machine) const;
  // The rows of PX that are kept, as (row, rows, row of the weights outside).
  template <typename Move>
  void each_kept(const Move& move) const;
};

}  // namespace adagp::rtl
