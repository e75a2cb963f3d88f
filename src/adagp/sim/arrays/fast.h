#pragma once
// FAST (Zhang, McDanel, Kung, HPCA 2022): block floating point in groups of 16, mantissas of 2 to 8
// bits that differ by tensor, layer and time; cells multiply 2-bit chunks.

#include "adagp/sim/accel/accelerator.h"

namespace adagp::arrays {

inline constexpr int kFastGroup = 16;
inline constexpr int kFastDense = 4;  // bits of every tensor without the adaptive rule
inline constexpr int kLeastMantissa = 2, kMostMantissaBits = 8;

// 2-bit chunks of a mantissa. Throws DataError for a width that is not modelled.
int64_t chunks_of(int mantissa);
// Stored bits of a value: (exponent + 16 * chunks * 3) / 16, every chunk with its sign.
double stored_bits(int mantissa, const accel::FastFormat& format);

}  // namespace adagp::arrays
