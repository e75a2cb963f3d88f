#pragma once
// CRC-32C (Castagnoli), as TFRecord and our checkpoints use it.

#include <cstddef>
#include <cstdint>

namespace adagp::io {

// `previous` continues an earlier call over the bytes before. Uses the processor's own instruction
// where there is one.
uint32_t crc32c(const void* bytes, size_t count, uint32_t previous = 0);

// The same by tables, for processors without the instruction.
uint32_t crc32c_by_tables(const void* bytes, size_t count, uint32_t previous = 0);

}  // namespace adagp::io
