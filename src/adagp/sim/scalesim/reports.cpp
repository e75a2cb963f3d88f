#include "adagp/sim/scalesim/reports.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/scalesim.h"
#include "adagp/sim/scalesim/user_mode.h"
#include "adagp/sim/scalesim/write_buffer.h"

namespace adagp::scalesim {
namespace {

using accel::add;
using accel::ceil_div;
using accel::mul;

constexpr int64_t kPrefetchWidth = 10;  // words per cycle before the computation, in mode CALC

// The operand that stays (ws: filter, is: ifmap) is loaded row by row in the first H cycles of a
// fold, the other streams past skewed by one cycle per row. A read takes one cycle.
void sram_times(const Folding& f, LayerReport& out) {
  if (f.os) {
    out.sram_ifmap.start = out.sram_filter.start = 1;
    out.sram_ifmap.stop = f.last_fold + f.stream + f.last_rows - 1;
    out.sram_filter.stop = f.last_fold + f.stream + f.last_columns - 1;
    out.sram_ofmap.start = f.stream - 1 + f.rows - f.first_rows;
    out.sram_ofmap.stop = f.last_fold + f.stream + f.rows + f.last_columns - 3;
    return;
  }
  Traffic& stays = f.is ? out.sram_ifmap : out.sram_filter;
  Traffic& streams = f.is ? out.sram_filter : out.sram_ifmap;
  stays.start = f.rows - f.first_rows + 1;
  stays.stop = f.last_fold + f.rows;
  streams.start = f.rows + 1;
  streams.stop = f.last_fold + f.rows + f.stream + f.last_rows - 1;
  out.sram_ofmap.start = 2 * f.rows - 1;
  out.sram_ofmap.stop = f.last_fold + 2 * f.rows + f.stream + f.last_columns - 3;
}

// SCALE-Sim fetches in hundredths of the buffer; 50 of them are filled before the computation.
struct Sets {
  int64_t size, half;  // words of a hundredth and of what is prefetched
};

Sets sets_of(int64_t kb) {
  const int64_t size = kb * kWordsPerKb / 100;
  return {size, 50 * size};
}

Traffic prefetched(int64_t words, const Sets& sets) {
  const int64_t whole = ceil_div(words, sets.size) * sets.size;
  return {-ceil_div(whole, kPrefetchWidth), -1, words};
}

// Cycle at which the array asks for the word-th weight, from 1 (ws reads each exactly once).
// Off-chip memory answers one cycle later.
int64_t weight_cycle(const Folding& f, int64_t word) {
  const int64_t full = f.row_size * std::min(f.columns, f.column_size);  // of a column of folds
  const int64_t column_fold = std::min((word - 1) / full, f.column_folds - 1);
  const int64_t in_column = word - 1 - column_fold * full;
  const int64_t width = column_fold == f.column_folds - 1 ? f.last_columns : f.columns;
  const int64_t row = in_column / width, row_fold = row / f.rows;
  const int64_t rows = row_fold == f.row_folds - 1 ? f.last_rows : f.rows;
  return (column_fold * f.row_folds + row_fold) * f.fold_cycles + f.rows - rows + row % f.rows;
}

struct Operand {
  int64_t words;   // of the tensor
  int64_t passes;  // how often the array asks for the whole of it
  int64_t first;   // cycle of the first request
  int64_t last;
};

Traffic streamed(const Operand& operand, const Sets& sets) {
  return {operand.first - ceil_div(sets.half, kPrefetchWidth), operand.last,
          mul(operand.words, operand.passes)};
}

// IFMAP positions along one axis that some window covers: a stride larger than the filter leaves
// gaps, and the last window may reach beyond the end.
int64_t touched(int64_t ifmap, int64_t filter, int64_t stride, int64_t ofmap) {
  if (filter >= stride) return std::min(ifmap, (ofmap - 1) * stride + filter);
  const int64_t last = std::clamp<int64_t>(ifmap - (ofmap - 1) * stride, 0, filter);
  return (ofmap - 1) * filter + last;
}

// Where a stride does not divide, SCALE-Sim's last windows reach beyond the IFMAP, and its last
// read of the SRAM is one that does not: earlier than ours, by less than a fold.
bool windows_end_inside(const Layer& layer) {
  return (layer.ifmap_h - layer.filter_h) % layer.stride == 0 &&
         (layer.ifmap_w - layer.filter_w) % layer.stride == 0;
}

void dram_times(const Config& config, const Layer& layer, const Folding& f, LayerReport& out) {
  const int64_t ifmap =
      mul(touched(layer.ifmap_h, layer.filter_h, layer.stride, layer.ofmap_h()),
          touched(layer.ifmap_w, layer.filter_w, layer.stride, layer.ofmap_w()), layer.channels);
  const int64_t filter = mul(layer.filter_h * layer.filter_w, layer.channels, layer.filters);
  const Sets ifmap_sets = sets_of(config.ifmap_kb), filter_sets = sets_of(config.filter_kb);
  const int64_t all = f.last_fold + f.fold_cycles - 1;
  if (ifmap < ifmap_sets.half) {
    out.dram_ifmap = prefetched(ifmap, ifmap_sets);
  } else {
    const int64_t passes = f.is ? 1 : f.column_folds;
    out.dram_ifmap = streamed({ifmap, passes, out.sram_ifmap.start - 1, all}, ifmap_sets);
    out.exact = false;
  }
  if (filter < filter_sets.half) {
    out.dram_filter = prefetched(filter, filter_sets);
  } else if (!f.os && !f.is) {
    const int64_t boundary = filter / filter_sets.half * filter_sets.half;
    out.dram_filter =
        streamed({filter, 1, f.rows - f.first_rows, weight_cycle(f, boundary) + 1}, filter_sets);
  } else {
    const bool tile_fits = f.os && mul(f.stream, f.columns) < filter_sets.half;
    const int64_t passes = f.is ? f.column_folds : tile_fits ? 1 : f.row_folds;
    out.dram_filter = streamed({filter, passes, out.sram_filter.start - 1, all}, filter_sets);
    out.exact = false;
  }
  const DrainTimes times = drain(
      results_of(f), {config.ofmap_kb * kWordsPerKb / 2, 0, f.columns, false}, out.total_cycles);
  out.dram_ofmap = {times.start, times.stop, times.words};
  out.exact = out.exact && times.exact;
}

LayerReport report_checked(const Config& config, const Layer& layer) {
  const accel::Gemm gemm{mul(layer.ofmap_h(), layer.ofmap_w()),
                         mul(layer.filter_h * layer.filter_w, layer.channels), layer.filters};
  accel::Array array;
  array.rows = config.rows;
  array.columns = config.columns;
  const auto core =
      accel::scalesim_report(accel::gemm_work(gemm), accel::find_dataflow(config.dataflow), array);
  LayerReport out;
  out.total_cycles = core.compute_cycles;
  out.overall_util = core.overall_util;
  out.mapping_efficiency = core.mapping_efficiency;
  out.compute_util = core.compute_util;
  out.sram_ifmap.words = core.sram.ifmap;
  out.sram_filter.words = core.sram.filter;
  out.sram_ofmap.words = core.sram.ofmap;
  const Folding folding = fold_layer(config, gemm);
  sram_times(folding, out);
  out.exact = windows_end_inside(layer);
  if (config.bandwidths) {
    user_times(config, gemm, folding, out);
  } else {
    dram_times(config, layer, folding, out);
  }
  out.total_with_prefetch =
      add(out.dram_ofmap.stop, -std::min(out.dram_ifmap.start, out.dram_filter.start));
  return out;
}

}  // namespace

LayerReport report_layer(const Config& config, const Layer& layer) {
  try {
    return report_checked(config, layer);
  } catch (const DataError& error) {
    throw DataError("layer '" + layer.name + "': " + error.what());
  }
}

}  // namespace adagp::scalesim
