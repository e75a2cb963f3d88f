#pragma once
// The mapping of a convolution onto Eyeriss' array, A rows x B columns (nn_dataflow's rules):
//   fold_h = R > A ? ceil(R/A) : 1          repl_h = R > A ? 1 : floor(A/R)
//   fold_w = E > B ? ceil(E/B) : 1          repl_w = E > B ? 1 : floor(B/E)
//   f = min(repl_h, fold_w): strips of the output side by side; fold_w = ceil(fold_w/f),
//   repl_h = floor(repl_h/f)
//   over factor pairs a*b = repl_h: ci = min(a, C), mo = min(b*repl_w, M) with the least
//   ceil(C/ci)*ceil(M/mo); among equals the least a
//   cycles = batch * fold_w * fold_h * ceil(C/ci) * ceil(M/mo) * S * F

#include <cstdint>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/work.h"

namespace adagp::accel {

struct RowMapping {
  int64_t strips = 1;  // fold_w before f: output rows are cut into so many strips
  int64_t fold_h = 1, fold_w = 1;
  int64_t repl_h = 1, repl_w = 1;
  int64_t channels = 1, filters = 1;  // ci and mo: side by side on the array
  int64_t cycles = 0;                 // of one group

  // What a PE's registers keep from one pass to the next (q channels, p filters; our rule, from
  // Eyeriss' register sizes): q*S <= input registers, p <= sum registers, p*q*S <= filter
  // registers, the pair of least buffer traffic. They divide the buffer's words, not the cycles:
  //   ifmap  input once (strips read `halo` rows again) * ceil(ceil(M/mo)/p)
  //   filter once: its registers keep it while batch and strips pass (a row longer than the
  //   registers
  //          is read again for each)
  //   ofmap  output * fold_h * ceil(ceil(C/ci)/q); all but the first write of a sum is read back
  int64_t kept_channels = 1, kept_filters = 1;
};

RowMapping map_rows(const Conv& conv, const Array& array);

}  // namespace adagp::accel
