#include "adagp/sim/accel/buffer_energy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::accel {
namespace {

struct Sram {
  double bytes, read_pj, write_pj, leakage_mw;  // of an access of 16 bits
};
// Rows of tests/golden/cacti_45nm.csv: accelergy_lstp_300K, 45 nm, 64 bits.
constexpr Sram kSrams[] = {{512, 0.3534, 0.5702, 1.89185e-05}, {8192, 1.534, 1.97, 0.000256785},
                           {65536, 6.467, 4.912, 0.00167027},  {110592, 7.362, 6.039, 0.00283024},
                           {131072, 8.071, 6.516, 0.00334055}, {524288, 17.09, 12.84, 0.012496},
                           {1048576, 23.38, 19.05, 0.0249626}, {2097152, 31.88, 27.55, 0.0499251}};
constexpr double kTableWordBytes = 2;

}  // namespace

void set_buffer(Accelerator& accelerator, int64_t bytes) {
  if (bytes < kSmallestBuffer || bytes > kLargestBuffer) {
    throw UsageError(core::cat("a buffer of ", bytes,
                               " bytes: the energies of CACTI are known for ", kSmallestBuffer,
                               " to ", kLargestBuffer, " bytes"));
  }
  const auto size = static_cast<double>(bytes);
  const Sram* above = std::find_if(std::begin(kSrams) + 1, std::end(kSrams) - 1,
                                   [&](const Sram& sram) { return sram.bytes >= size; });
  const Sram& low = *(above - 1);
  const Sram& high = *above;
  const double place = std::log(size / low.bytes) / std::log(high.bytes / low.bytes);
  const auto between = [&](double Sram::*field) {
    return low.*field * std::pow(high.*field / low.*field, place);
  };
  const double words = static_cast<double>(accelerator.word_bytes) / kTableWordBytes;
  accelerator.buffer_bytes = bytes;
  accelerator.energy.buffer_read_pj = between(&Sram::read_pj) * words;
  accelerator.energy.buffer_write_pj = between(&Sram::write_pj) * words;
  accelerator.energy.buffer_leakage_mw = between(&Sram::leakage_mw);
}

}  // namespace adagp::accel
