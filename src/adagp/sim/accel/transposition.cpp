#include "adagp/sim/accel/transposition.h"

#include <algorithm>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/memory.h"

namespace adagp::accel {
namespace {

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
