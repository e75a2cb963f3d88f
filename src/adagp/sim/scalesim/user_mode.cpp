#include "adagp/sim/scalesim/user_mode.h"

#include <algorithm>

#include "adagp/sim/accel/checked_math.h"

namespace adagp::scalesim {
namespace {

using accel::add;
using accel::ceil_div;
using accel::mul;

// One operand. SCALE-Sim fetches the matrix the array asks for (a convolution's pixels once for
// each window they are in), laid out in whole folds.
struct ReadOperand {
  int64_t words;     // of the matrix
  int64_t laid_out;  // with the gaps of folds that are not full
  int64_t passes;    // how often the array asks for the whole of it
  int64_t buffer;    // words
  int64_t bandwidth;

  int64_t half() const { return buffer / 2; }
  // SCALE-Sim looks words up in sets of a hundredth of the buffer.
  bool fits() const {
    const int64_t set = ceil_div(buffer, 100);
    return ceil_div(words, set) <= ceil_div(half(), set);
  }
  // Before the computation.
  int64_t first_lines() const {
    return std::min(ceil_div(half(), bandwidth), ceil_div(laid_out, bandwidth));
  }
  int64_t traffic() const { return fits() ? mul(first_lines(), bandwidth) : mul(words, passes); }
  // Of a computation of `cycles`, until the last word has come.
  int64_t stall(int64_t cycles) const {
    if (fits()) return 0;
    return std::max<int64_t>(0, ceil_div(traffic() - half(), bandwidth) - cycles);
  }
  Traffic times(int64_t end) const { return {-first_lines(), fits() ? -1 : end, traffic()}; }
};

ReadOperand ifmap_of(const Config& config, const accel::Gemm& gemm, const Folding& f) {
  const int64_t laid_out =
      f.is ? mul(f.row_size, f.column_folds, f.columns) : mul(f.stream, f.row_folds, f.rows);
  return {mul(gemm.m, gemm.k), laid_out, f.is ? 1 : f.column_folds, config.ifmap_kb * kWordsPerKb,
          config.bandwidths->ifmap};
}

ReadOperand filter_of(const Config& config, const accel::Gemm& gemm, const Folding& f) {
  const int64_t buffer = config.filter_kb * kWordsPerKb;
  const int64_t laid_out = f.is   ? mul(f.stream, f.row_folds, f.rows)
                           : f.os ? mul(f.stream, f.column_folds, f.columns)
                                  : mul(f.row_size, f.column_folds, f.columns);
  // Under os the filters of a column of folds serve all its row folds, if they can stay.
  const bool stays = mul(f.stream, std::min(f.columns, f.column_size)) <= buffer / 2;
  const int64_t passes = f.is ? f.column_folds : f.os && !stays ? f.row_folds : 1;
  return {mul(gemm.k, gemm.n), laid_out, passes, buffer, config.bandwidths->filter};
}

// Stalls of lines before `line`; with `own`, of that line too.
int64_t stalls_until(const DrainTimes& drains, int64_t line, bool own) {
  int64_t sum = 0;
  for (const Stall& stall : drains.stalls) {
    if (stall.line < line || (own && stall.line == line)) sum = add(sum, stall.cycles);
  }
  return sum;
}

std::string note_of(const ReadOperand& ifmap, const ReadOperand& filter, const DrainTimes& drains,
                    bool exact) {
  std::string note;
  const auto say = [&](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  const std::string larger = !ifmap.fits() && !filter.fits()
                                 ? "IFMAP and filter exceed half their buffers"
                             : !ifmap.fits()  ? "IFMAP exceeds half its buffer"
                             : !filter.fits() ? "filter exceeds half its buffer"
                                              : "";
  if (!larger.empty()) {
    say("estimate: " + larger + "; we count a read per pass where SCALE-Sim reads again and again");
  }
  if (drains.waited)
    say("the last results wait for the drain before; SCALE-Sim moves both at once");
  if (!drains.exact) say("estimate: too many drains to follow");
  if (!exact) say("the last IFMAP read is an upper bound: windows reach beyond the IFMAP");
  return note.empty() ? "equal to SCALE-Sim 3.0.0" : note + " (docs/other-simulators.md)";
}

}  // namespace

void user_times(const Config& config, const accel::Gemm& gemm, const Folding& f, LayerReport& out) {
  const ReadOperand ifmap = ifmap_of(config, gemm, f), filter = filter_of(config, gemm, f);
  const int64_t compute = out.total_cycles, buffer = config.ofmap_kb * kWordsPerKb;
  const DrainTimes drains =
      drain(results_of(f), {buffer / 2, buffer, config.bandwidths->ofmap, true}, compute);
  out.note = note_of(ifmap, filter, drains, out.exact);
  out.exact = out.exact && drains.exact && !drains.waited && ifmap.fits() && filter.fits();

  // Interfaces wait beside each other.
  const int64_t write_stall = stalls_until(drains, compute, true);
  out.stall_cycles = std::max({write_stall, ifmap.stall(compute), filter.stall(compute)});
  out.total_cycles = add(compute, out.stall_cycles);
  out.overall_util *= static_cast<double>(std::max<int64_t>(1, compute)) /
                      static_cast<double>(std::max<int64_t>(1, out.total_cycles));

  // A stall of the reads is spread over the whole computation: its end moves by all of it.
  const int64_t more = out.stall_cycles - write_stall;
  for (Traffic* reads : {&out.sram_ifmap, &out.sram_filter}) {
    reads->stop = add(reads->stop, stalls_until(drains, reads->stop - 1, false), more);
  }
  out.sram_ofmap.stop =
      add(out.sram_ofmap.stop, stalls_until(drains, out.sram_ofmap.stop, true), more);
  out.dram_ifmap = ifmap.times(out.total_cycles);
  out.dram_filter = filter.times(out.total_cycles);
  out.dram_ofmap = {drains.start, add(drains.stop, more), drains.words};
}

}  // namespace adagp::scalesim
