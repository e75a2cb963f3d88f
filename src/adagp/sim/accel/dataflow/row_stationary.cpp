// Eyeriss: a filter row stays in a PE, a column of PEs makes one output row.
#include "adagp/sim/accel/row_stationary.h"

#include <algorithm>

#include "adagp/base/core/text.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/dataflow/dataflow.h"

namespace adagp::accel {
namespace {

// Words of one group when neither channels nor filters are kept in registers.
struct RowWords {
  int64_t input;  // the input once: strips and folded filters read some rows again
  int64_t sums;   // the output once per fold of the filter's rows
};

RowWords row_words(const Conv& c, const RowMapping& map) {
  const int64_t again = add(mul(map.strips - 1, c.halo), mul(map.fold_h - 1, c.out_h - 1));
  const int64_t most = mul(map.strips, map.fold_h, c.in_h);
  const int64_t rows = std::min(most, add(c.in_h, again));
  return {mul(c.batch, c.channels, c.in_w, rows),
          mul(mul(c.batch, c.filters, c.out_h, c.out_w), map.fold_h)};
}

// Channels and filters side by side on the repl_h * repl_w copies of the filter's rows: a of the
// repl_h copies differ in the channel.
void try_pair(const Conv& c, int64_t a, int64_t& best, RowMapping& map) {
  const int64_t channels = std::min(a, c.channels);
  const int64_t filters = std::min(map.repl_h / a * map.repl_w, c.filters);
  const int64_t passes = mul(ceil_div(c.channels, channels), ceil_div(c.filters, filters));
  if (best == 0 || passes < best) {
    best = passes;
    map.channels = channels;
    map.filters = filters;
  }
}

// All divisors of repl_h in rising order, so that among equals the least wins.
void choose_side_by_side(const Conv& c, RowMapping& map) {
  int64_t best = 0;
  int64_t a = 1;
  for (; a * a <= map.repl_h; ++a) {
    if (map.repl_h % a == 0) try_pair(c, a, best, map);
  }
  for (--a; a >= 1; --a) {
    if (map.repl_h % a == 0 && a * a != map.repl_h) try_pair(c, map.repl_h / a, best, map);
  }
}

void choose_kept(const Conv& c, const Array& array, RowMapping& map) {
  const RowWords words = row_words(c, map);
  const int64_t channel_passes = ceil_div(c.channels, map.channels);
  const int64_t filter_passes = ceil_div(c.filters, map.filters);
  const int64_t most_channels =
      std::clamp<int64_t>(array.input_registers / c.filter_w, 1, channel_passes);
  double least = 0;
  for (int64_t q = 1; q <= most_channels; ++q) {
    const int64_t room = std::max<int64_t>(1, array.filter_registers / (q * c.filter_w));
    const int64_t p = std::min({room, array.sum_registers, filter_passes});
    const double traffic =
        static_cast<double>(words.input) * static_cast<double>(ceil_div(filter_passes, p)) +
        2.0 * static_cast<double>(words.sums) * static_cast<double>(ceil_div(channel_passes, q));
    if (least == 0 || traffic < least) {
      least = traffic;
      map.kept_channels = q;
      map.kept_filters = p;
    }
  }
}

ArrayCost rs_cost(const Work& work, const Array& array) {
  const Conv& c = work.conv;
  const RowMapping map = map_rows(c, array);
  ArrayCost cost;
  cost.cycles = mul(work.groups, map.cycles);
  cost.stream = mul(c.filter_w, c.out_w);
  cost.folds = cost.cycles / cost.stream;
  cost.macs = macs(work);

  const RowWords words = row_words(c, map);
  const int64_t filter_passes = ceil_div(ceil_div(c.filters, map.filters), map.kept_filters);
  const int64_t channel_passes = ceil_div(ceil_div(c.channels, map.channels), map.kept_channels);
  cost.sram.ifmap = mul(work.groups, words.input, filter_passes);
  const bool kept = c.filter_w <= array.filter_registers;
  cost.sram.filter = mul(mul(work.groups, kept ? 1 : mul(c.batch, map.fold_w)),
                         mul(c.channels, c.filters, c.filter_h, c.filter_w));
  cost.sram.ofmap = mul(work.groups, words.sums, channel_passes);
  cost.sram.sums = cost.sram.ofmap - mul(work.groups, words.sums / map.fold_h);
  return cost;
}

std::string rs_text(const Work& work, const Array& array) {
  const Conv& c = work.conv;
  const RowMapping map = map_rows(c, array);
  const bool groups = work.groups > 1;
  return core::cat(
      "R = ", c.filter_h, " filter rows on A = ", array.rows, ": fold_h ", map.fold_h,
      "; E = ", c.out_h, " output rows on B = ", array.columns, ": ", map.strips,
      " strips, fold_w ", map.fold_w, "; side by side ", map.channels, " channels, ", map.filters,
      " filters\n", "cycles = batch * fold_w * fold_h * ceil(C/ci) * ceil(M/mo) * S * F",
      groups ? " * groups" : "", "\n       = ", c.batch, " * ", map.fold_w, " * ", map.fold_h,
      " * ceil(", c.channels, "/", map.channels, ") * ceil(", c.filters, "/", map.filters, ") * ",
      c.filter_w, " * ", c.out_w, groups ? core::cat(" * ", work.groups) : "", " = ",
      mul(work.groups, map.cycles), "\n");
}

}  // namespace

RowMapping map_rows(const Conv& c, const Array& array) {
  RowMapping map;
  map.fold_h = ceil_div(c.filter_h, array.rows);
  map.repl_h = std::max<int64_t>(1, array.rows / c.filter_h);
  map.strips = ceil_div(c.out_h, array.columns);
  map.repl_w = std::max<int64_t>(1, array.columns / c.out_h);

  const int64_t side_by_side = std::min(map.repl_h, map.strips);
  map.fold_w = ceil_div(map.strips, side_by_side);
  map.repl_h /= side_by_side;

  choose_side_by_side(c, map);
  choose_kept(c, array, map);
  const int64_t passes = mul(ceil_div(c.channels, map.channels), ceil_div(c.filters, map.filters));
  map.cycles = mul(mul(c.batch, map.fold_w, map.fold_h), passes, mul(c.filter_w, c.out_w));
  return map;
}

const Dataflow kRowStationary = {
    "rs", "row stationary (Eyeriss): filter rows stay, a column of PEs makes an output row",
    rs_cost, rs_text, [](const Work& work) {
      return MacAccesses{3, 1, 1.0 / static_cast<double>(work.conv.filter_w)};
    }};

}  // namespace adagp::accel
