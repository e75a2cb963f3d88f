#include "adagp/scalesim/write_buffer.h"

#include <algorithm>
#include <vector>

#include "adagp/accel/checked.h"

namespace adagp::scalesim {
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

DrainTimes drain(const ResultStream& stream, int64_t half, int64_t width, int64_t end) {
  const int64_t all = stream.words();
  if (all <= half) return {end, add(end, ceil_div(all, width) - 1), all, true};
  if (all / half > kMostDrains) {
    const int64_t first = stream.cycle_of(half + 1);
    return {first, add(end, ceil_div(std::min(all, half), width) - 1), all, false};
  }
  DrainTimes times;
  const int64_t chunk = ceil_div(half, width);  // lines of one drain
  // Lines are `width` words; a drain cuts the line being filled short, which leaves a gap.
  struct Gap {
    int64_t line, missing;
  };
  std::vector<Gap> gaps;
  int64_t written = 0, lines = 0, drained_lines = 0, waiting = 0, free_at = 0;
  const auto cut_line = [&](int64_t fresh) {
    lines += ceil_div(fresh, width);
    if (fresh % width != 0) gaps.push_back({lines - 1, width - fresh % width});
  };
  const auto leave = [&](int64_t cycle) {
    const int64_t count = std::min(chunk, lines - drained_lines);
    int64_t words = count * width;
    drained_lines += count;
    for (const Gap& gap : gaps) {
      if (gap.line == drained_lines - 1) words -= gap.missing;
    }
    std::erase_if(gaps, [&](const Gap& gap) { return gap.line < drained_lines; });
    times.words += words;
    waiting -= words;
    return add(cycle, count - 1);
  };
  int64_t line_start = 0;  // words written when the current run of lines began
  bool first = true;
  while (true) {
    const int64_t enough = written + half + 1 - waiting;
    const int64_t next = std::max({enough, stream.words_before(free_at) + 1, written + 1});
    if (next > all) break;
    waiting += next - written;
    written = next;
    cut_line(written - line_start);
    line_start = written;
    const int64_t cycle = stream.cycle_of(written);
    if (first) times.start = cycle;
    first = false;
    free_at = leave(cycle);
  }
  waiting += all - written;
  cut_line(all - line_start);
  int64_t cycle = end;
  while (drained_lines < lines) cycle = leave(cycle) + 1;
  if (first) times.start = end;
  times.stop = std::max(cycle - 1, free_at);
  return times;
}

}  // namespace adagp::scalesim
