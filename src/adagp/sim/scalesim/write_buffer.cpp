#include "adagp/sim/scalesim/write_buffer.h"

#include <algorithm>
#include <vector>

#include "adagp/sim/accel/checked_math.h"

namespace adagp::scalesim {

using accel::add;
using accel::ceil_div;
using accel::mul;

namespace {

using accel::add;
using accel::ceil_div;
using accel::mul;

constexpr int64_t kMostDrains = 100'000;

// Results (i, c) of a fold with i + c <= t. The shorter side is at most an array's, so that the
// triangles at both ends stay small.
int64_t through(int64_t t, int64_t length, int64_t columns) {
  const int64_t shorter = std::min(length, columns), longer = std::max(length, columns);
  const auto triangle = [](int64_t side) { return side * (side + 1) / 2; };
  if (t < 0) return 0;
  if (t < shorter) return triangle(t + 1);
  if (t < longer) return triangle(shorter) + (t - shorter + 1) * shorter;
  return length * columns - triangle(std::max<int64_t>(0, length + columns - 2 - t));
}

struct Fold {
  int64_t index, length, columns, offset;
};

Fold fold_at(const ResultStream& stream, int64_t column_fold, int64_t row_fold) {
  const bool last_row = row_fold == stream.row_folds - 1;
  const bool last_column = column_fold == stream.column_folds - 1;
  return {column_fold * stream.row_folds + row_fold, last_row ? stream.last_length : stream.length,
          last_column ? stream.last_columns : stream.columns,
          last_row ? stream.last_offset : stream.offset};
}

int64_t column_length(const ResultStream& stream) {
  return add(mul(stream.row_folds - 1, stream.length), stream.last_length);
}

}  // namespace

int64_t ResultStream::words() const {
  return mul(column_length(*this), add(mul(column_folds - 1, columns), last_columns));
}

int64_t ResultStream::cycle_of(int64_t word) const {
  const int64_t per_column = column_length(*this);
  const int64_t column_fold = std::min((word - 1) / (per_column * columns), column_folds - 1);
  const int64_t in_column = word - column_fold * per_column * columns;
  const int64_t width = column_fold == column_folds - 1 ? last_columns : columns;
  const int64_t row_fold = std::min((in_column - 1) / (length * width), row_folds - 1);
  const int64_t in_fold = in_column - row_fold * length * width;
  const Fold fold = fold_at(*this, column_fold, row_fold);
  int64_t low = 0, high = fold.length + fold.columns - 2;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (through(middle, fold.length, fold.columns) >= in_fold) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return fold.index * fold_cycles + fold.offset + low;
}

int64_t ResultStream::words_before(int64_t cycle) const {
  if (cycle <= 0) return 0;
  const int64_t index = std::min((cycle - 1) / fold_cycles, row_folds * column_folds - 1);
  const int64_t column_fold = index / row_folds, row_fold = index % row_folds;
  const Fold fold = fold_at(*this, column_fold, row_fold);
  return column_fold * column_length(*this) * columns + row_fold * length * fold.columns +
         through(cycle - 1 - index * fold_cycles - fold.offset, fold.length, fold.columns);
}

namespace {

// Without following the drains: the interface moves what the buffer cannot hold beside the
// computation.
DrainTimes many_drains(const ResultStream& stream, const WriteBuffer& buffer, int64_t end) {
  const int64_t all = stream.words(), first = stream.cycle_of(buffer.half + 1);
  DrainTimes times;
  times.words = all;
  times.exact = false;
  const int64_t needed = ceil_div(std::max<int64_t>(0, all - buffer.capacity), buffer.width);
  if (buffer.capacity > 0 && needed > end - first) {
    times.stalls.push_back({end, needed - (end - first)});
    end = add(first, needed);
  }
  times.start = first;
  times.stop = add(end, ceil_div(std::min(all, buffer.half), buffer.width) - 1);
  return times;
}

// What waits in the buffer, as SCALE-Sim counts it. Lines are `width` words; a drain cuts the line
// that is being filled short, which leaves a gap.
class Waiting {
 public:
  explicit Waiting(const WriteBuffer& buffer)
      : width_(buffer.width), chunk_(ceil_div(buffer.half, buffer.width)) {}

  int64_t words() const { return words_; }
  bool lines_left() const { return drained_lines_ < lines_; }
  void take(int64_t words) { words_ += words; }
  // The words that came since the last cut end their line.
  void cut_line(int64_t fresh) {
    lines_ += ceil_div(fresh, width_);
    if (fresh % width_ != 0) gaps_.push_back({lines_ - 1, width_ - fresh % width_});
  }
  // Half a buffer leaves from `cycle` on; returns the last cycle of that.
  int64_t leave(int64_t cycle, int64_t& moved) {
    const int64_t count = std::min(chunk_, lines_ - drained_lines_);
    int64_t words = count * width_;
    drained_lines_ += count;
    for (const Gap& gap : gaps_) {
      if (gap.line == drained_lines_ - 1) words -= gap.missing;
    }
    std::erase_if(gaps_, [&](const Gap& gap) { return gap.line < drained_lines_; });
    moved += words;
    words_ -= words;
    return add(cycle, count - 1);
  }

 private:
  struct Gap {
    int64_t line, missing;
  };

  int64_t width_, chunk_;  // chunk: lines of one drain
  std::vector<Gap> gaps_;
  int64_t lines_ = 0, drained_lines_ = 0, words_ = 0;
};

}  // namespace

DrainTimes drain(const ResultStream& stream, const WriteBuffer& buffer, int64_t end) {
  const int64_t all = stream.words(), half = buffer.half;
  DrainTimes times;
  if (all <= half) {
    times.start = end;
    times.stop = add(end, ceil_div(all, buffer.width) - 1);
    times.words = all;
    return times;
  }
  if (all / half > kMostDrains) return many_drains(stream, buffer, end);
  Waiting waiting(buffer);
  int64_t written = 0, free_at = 0, late = 0;  // late: the sum of the stalls so far
  int64_t line_start = 0;                      // words written when the current run of lines began
  bool first = true;
  const auto write_up_to = [&](int64_t word) {
    waiting.take(word - written);
    written = word;
  };
  while (true) {
    // Full before the interface is free: the array waits until it is.
    const int64_t full = written + std::max<int64_t>(1, buffer.capacity - waiting.words());
    if (buffer.capacity > 0 && full <= all && add(stream.cycle_of(full), late) < free_at) {
      const int64_t line = stream.cycle_of(full);
      times.stalls.push_back({line, free_at - line - late});
      late = free_at - line;
      write_up_to(full);
    }
    const int64_t enough = written + half + 1 - waiting.words();
    const int64_t next = std::max({enough, stream.words_before(free_at - late) + 1, written + 1});
    if (next > all) break;
    write_up_to(next);
    waiting.cut_line(written - line_start);
    line_start = written;
    const int64_t cycle = add(stream.cycle_of(written), late);
    if (first) times.start = cycle;
    first = false;
    free_at = waiting.leave(cycle, times.words);
  }
  write_up_to(all);
  waiting.cut_line(all - line_start);
  const int64_t last = add(end, late);
  times.waited = buffer.one_by_one && free_at > last && waiting.lines_left();
  int64_t cycle = times.waited ? free_at : last;
  while (waiting.lines_left()) cycle = waiting.leave(cycle, times.words) + 1;
  if (first) times.start = last;
  times.stop = std::max(cycle - 1, free_at);
  return times;
}

Folding fold_layer(const Config& config, const accel::Gemm& gemm) {
  Folding f;
  f.os = config.dataflow == "os";
  f.is = config.dataflow == "is";
  f.rows = config.rows;
  f.columns = config.columns;
  f.row_size = f.os ? gemm.m : gemm.k;
  f.column_size = f.is ? gemm.m : gemm.n;
  f.stream = f.os ? gemm.k : f.is ? gemm.n : gemm.m;
  f.row_folds = ceil_div(f.row_size, f.rows);
  f.column_folds = ceil_div(f.column_size, f.columns);
  f.last_rows = f.row_size - (f.row_folds - 1) * f.rows;
  f.first_rows = std::min(f.row_size, f.rows);
  f.last_columns = f.column_size - (f.column_folds - 1) * f.columns;
  f.fold_cycles = add(f.stream, (f.os ? 1 : 2) * f.rows + f.columns - 2);
  f.last_fold = mul(mul(f.row_folds, f.column_folds) - 1, f.fold_cycles);
  return f;
}

ResultStream results_of(const Folding& f) {
  ResultStream stream;
  stream.row_folds = f.row_folds;
  stream.column_folds = f.column_folds;
  stream.fold_cycles = f.fold_cycles;
  stream.columns = std::min(f.columns, f.column_size);
  stream.last_columns = f.last_columns;
  if (f.os) {
    stream.length = f.first_rows;
    stream.last_length = f.last_rows;
    stream.offset = f.stream - 1 + f.rows - f.first_rows;
    stream.last_offset = f.stream - 1 + f.rows - f.last_rows;
  } else {
    stream.length = stream.last_length = f.stream;
    stream.offset = stream.last_offset = 2 * f.rows - 1;
  }
  return stream;
}

}  // namespace adagp::scalesim
