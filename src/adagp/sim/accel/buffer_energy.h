#pragma once
// Energy of an SRAM access by the size of the SRAM.

#include <cstdint>

#include "adagp/sim/accel/accelerator.h"

namespace adagp::accel {

inline constexpr int64_t kSmallestBuffer = 512, kLargestBuffer = 2097152;  // bytes, of the table

// Sets the buffer's size and, for it, the energy of its accesses and its leakage: CACTI 7.0, 45 nm,
// 64-bit port, between its sizes by straight lines over the logarithms. Throws UsageError for a
// size outside of the table.
void set_buffer(Accelerator& accelerator, int64_t bytes);

}  // namespace adagp::accel
