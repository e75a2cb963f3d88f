#include "adagp/sim/accel/memory.h"

#include <algorithm>
#include <cmath>

#include "adagp/sim/accel/checked_math.h"

namespace adagp::accel {
namespace {

// Sizes of one group in words.
struct Pieces {
  int64_t m, k, n;
  int64_t input, filter, output;
};

// A loop order: how often each operand passes the interface, and what must be there first.
struct Candidate {
  LoopOrder order;
  int64_t input_times, filter_times;
  int64_t output_writes, output_reads;  // times
  int64_t first_tile;
};

int64_t candidate_words(const Candidate& c, const Pieces& p) {
  return add(mul(p.input, c.input_times), mul(p.filter, c.filter_times),
             mul(p.output, c.output_writes + c.output_reads));
}

// Input words that one row of the product's left matrix stands for: an im2col matrix repeats
// pixels, so this is less than K for a convolution.
int64_t input_row(const Pieces& p) {
  return ceil_div(p.input, p.m);
}

// Words of a column of the right matrix: K, or none where the PEs keep it.
int64_t filter_column(const Pieces& p) {
  return ceil_div(p.filter, p.n);
}

// Largest square-ish tile of sums with a slice of each operand beside it.
Candidate hold_output(const Pieces& p, int64_t capacity) {
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(capacity) + 1.0)) - 1;
  int64_t tm = std::clamp<int64_t>(side, 1, p.m);
  int64_t tn = std::clamp<int64_t>((capacity - tm) / (tm + 1), 1, p.n);
  // What a short side leaves over goes to the other one.
  tm = std::clamp<int64_t>((capacity - tn) / (tn + 1), 1, p.m);
  return {LoopOrder::kHoldOutput, ceil_div(p.n, tn), ceil_div(p.m, tm), 1, 0, tm + tn};
}

bool hold_filter(const Pieces& p, int64_t capacity, Candidate& out) {
  const int64_t row = input_row(p);
  const int64_t column = filter_column(p);
  const int64_t tn = std::min(p.n, (capacity - row) / (column + 1));  // weights and one sum each
  if (tn < 1) return false;
  out = {LoopOrder::kHoldFilter, ceil_div(p.n, tn), 1, 1, 0, add(mul(column, tn), row)};
  return true;
}

bool hold_input(const Pieces& p, int64_t capacity, Candidate& out) {
  const int64_t row = input_row(p);
  const int64_t column = filter_column(p);
  const int64_t tm = std::min(p.m, (capacity - column) / (row + 1));  // a row and one sum each
  if (tm < 1) return false;
  out = {LoopOrder::kHoldInput, 1, ceil_div(p.m, tm), 1, 0, add(mul(row, tm), column)};
  return true;
}

// One PE's worth of buffer is enough here: a weight, an input and a sum.
Candidate spill(const Pieces& p, int64_t capacity) {
  const int64_t tn = std::clamp<int64_t>((capacity - 1) / 2, 1, p.n);
  const int64_t tk = std::clamp<int64_t>((capacity - tn - 1) / tn, 1, p.k);
  const int64_t times = ceil_div(p.k, tk);
  return {LoopOrder::kSpill, ceil_div(p.n, tn), 1, times, times - 1, tk * tn + 1};
}

Candidate best_order(const Pieces& p, int64_t capacity) {
  const int64_t all = add(p.input, p.filter, p.output);
  if (capacity == 0 || all <= capacity) {
    return {LoopOrder::kResident, 1, 1, 1, 0, add(input_row(p), p.filter)};
  }
  constexpr int64_t kLeastForOutput = 3;  // one sum and one word of each operand
  if (capacity < kLeastForOutput) return spill(p, capacity);
  Candidate best = hold_output(p, capacity);
  Candidate other{};
  if (hold_filter(p, capacity, other) && candidate_words(other, p) < candidate_words(best, p)) {
    best = other;
  }
  if (hold_input(p, capacity, other) && candidate_words(other, p) < candidate_words(best, p)) {
    best = other;
  }
  return best;
}

constexpr int64_t kBlockSide = 16;

int64_t turned_words(const Work& work) {
  switch (work.pass) {
    case Pass::kForward:
      return 0;
    case Pass::kInputGradient:
      return work.tensors.filter;
    case Pass::kWeightGradient:
      break;
  }
  return work.tensors.input;
}

}  // namespace

int64_t cycles_for(double amount, double per_cycle) {
  if (per_cycle <= 0) return 0;
  const double cycles = std::ceil(amount / per_cycle);
  constexpr double kMost = 9.2e18;  // below 2^63
  if (!(cycles < kMost))
    throw Overflow("cycles of a transfer exceed 64 bits: too little bandwidth");
  return static_cast<int64_t>(cycles);
}

const char* loop_order_name(LoopOrder order) {
  static constexpr const char* kNames[] = {"resident", "hold filter", "hold input", "hold output",
                                           "spill"};
  return kNames[static_cast<int>(order)];
}

MemoryCost dram_traffic(const Work& work, const Accelerator& accelerator, bool filter_kept) {
  const int64_t groups = work.groups;
  const int64_t filter = filter_kept ? 0 : work.tensors.filter;
  const Pieces pieces = {work.gemm.m,
                         work.gemm.k,
                         work.gemm.n,
                         ceil_div(work.tensors.input, groups),
                         ceil_div(filter, groups),
                         ceil_div(work.tensors.output, groups)};
  int64_t capacity = accelerator.buffer_bytes / accelerator.word_bytes;
  if (accelerator.double_buffered) capacity /= 2;
  // 0 is a buffer without a bound; one that is too small for a word still holds one.
  if (accelerator.buffer_bytes > 0) capacity = std::max<int64_t>(1, capacity);
  const Candidate best = best_order(pieces, capacity);
  MemoryCost out;
  out.order = best.order;
  out.input_reads = mul(work.tensors.input, best.input_times);
  out.filter_reads = mul(filter, best.filter_times);
  out.sum_reads = mul(work.tensors.output, best.output_reads);
  out.dram_reads = add(out.input_reads, out.filter_reads, out.sum_reads);
  out.dram_writes = mul(work.tensors.output, best.output_writes);
  out.first_tile = std::min(best.first_tile, out.dram_reads);
  return out;
}

int64_t bandwidth_stall(int64_t compute, double bytes, double bytes_per_cycle) {
  return std::max<int64_t>(0, cycles_for(bytes, bytes_per_cycle) - compute);
}

MemoryCost memory_cost(const Work& work, const ArrayCost& cost, const Accelerator& accelerator) {
  MemoryCost out = dram_traffic(work, accelerator, cost.filter_kept);
  if (accelerator.dram_bytes_per_cycle <= 0 && accelerator.buffer_bytes_per_cycle <= 0) return out;
  const auto word = static_cast<double>(accelerator.word_bytes);
  const auto bytes = [&](int64_t words) { return static_cast<double>(words) * word; };
  const int64_t dram =
      cycles_for(bytes(add(out.dram_reads, out.dram_writes)), accelerator.dram_bytes_per_cycle);
  const int64_t buffer = cycles_for(bytes(cost.sram.total()), accelerator.buffer_bytes_per_cycle);
  const int64_t work_cycles = std::max(cost.cycles, buffer);
  int64_t time = 0;
  if (accelerator.double_buffered) {
    out.fill_cycles = cycles_for(bytes(out.first_tile), accelerator.dram_bytes_per_cycle);
    time = std::max(add(out.fill_cycles, work_cycles), dram);
  } else {
    time = add(dram, work_cycles);
  }
  out.stall_cycles = time - cost.cycles;
  return out;
}

Transposition transposition(const Work& work, const ArrayCost& cost, const Dataflow& dataflow,
                            const Accelerator& a) {
  Transposition out;
  if (a.transpose == "free" || &dataflow == &kInPlaceTransposed) return out;
  out.words = turned_words(work);
  if (out.words == 0) return out;
  if (a.transpose == "buffer") {
    const double rate = a.buffer_bytes_per_cycle > 0
                            ? a.buffer_bytes_per_cycle / static_cast<double>(a.word_bytes)
                            : static_cast<double>(a.array.columns);
    out.cycles = cycles_for(static_cast<double>(out.words), rate);
    out.energy = static_cast<double>(out.words) *
                 (a.energy.buffer_read_pj + a.energy.buffer_write_pj) * 1e-12;
  } else {
    const int64_t blocks = ceil_div(out.words, kBlockSide * kBlockSide);
    const int64_t busy = mul(ceil_div(blocks, a.transposers), kBlockSide);
    out.cycles = std::max<int64_t>(0, busy - cost.cycles);
  }
  return out;
}

}  // namespace adagp::accel
