#pragma once
// SCALE-Sim's result buffer, event by event instead of cycle by cycle: results gather, and whenever
// more than half the buffer waits and the interface is free, half a buffer leaves, one line per
// cycle. While the interface is not free and the buffer is full, the array waits.

#include <cstdint>
#include <vector>

#include "adagp/sim/accel/work.h"
#include "adagp/sim/scalesim/config.h"

namespace adagp::scalesim {

// When the array hands results to the buffer. Folds of one array column group follow each other;
// in a fold the results leave as a diagonal: result (i, c) of `length` x columns at offset + i + c.
struct ResultStream {
  int64_t row_folds = 1, column_folds = 1;
  int64_t fold_cycles = 1;
  int64_t length = 1;       // results per column of a fold
  int64_t last_length = 1;  // of the last row fold
  int64_t columns = 1;      // array columns in use
  int64_t last_columns = 1;
  int64_t offset = 0;       // cycle of a fold's first result
  int64_t last_offset = 0;  // of the last row fold's

  int64_t words() const;                      // of all folds; checked
  int64_t cycle_of(int64_t word) const;       // of the word-th result, from 1
  int64_t words_before(int64_t cycle) const;  // results handed over earlier than `cycle`
};

// The array stands still after handing over the results of `line`.
struct Stall {
  int64_t line, cycles;  // the line's cycle without any stall
};

struct DrainTimes {
  int64_t start = 0, stop = 0;  // first and last cycle of the interface
  int64_t words = 0;            // as SCALE-Sim counts: a line cut short in mid-drain counts as full
  std::vector<Stall> stalls;    // in the order of their lines
  bool waited = false;          // the last drains began after the one before, not at the end
  bool exact = true;            // false: too many drains to follow; a bound instead
};

struct WriteBuffer {
  int64_t half;      // half its words: what a drain moves
  int64_t capacity;  // all its words: full, it stops the array; 0: it never does
  int64_t width;     // words that leave per cycle
  bool one_by_one;   // the last drains wait for the one before. SCALE-Sim lets them overlap.
};

// `end` is the last cycle of the computation without stalls. Times of the result include them.
DrainTimes drain(const ResultStream& stream, const WriteBuffer& buffer, int64_t end);

// How a layer is laid over the array in folds, and when their results leave it.

inline constexpr int64_t kWordsPerKb = 1024;  // words are bytes

struct Folding {
  bool os = false, is = false;
  int64_t rows, columns;          // H, W
  int64_t row_size, column_size;  // what is laid over them
  int64_t stream;                 // what passes by
  int64_t row_folds, column_folds, last_rows, last_columns, first_rows;
  int64_t fold_cycles;
  int64_t last_fold;  // its first cycle
};

Folding fold_layer(const Config& config, const accel::Gemm& gemm);
ResultStream results_of(const Folding& folding);

}  // namespace adagp::scalesim
