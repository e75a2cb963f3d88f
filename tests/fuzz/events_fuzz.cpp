// Any bytes are either a DataError or scalars. No fuzzer guesses a checksum, so the bytes are also
// tried as the inside of one well-framed record.

#include <cstdint>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/base/io/events.h"
#include "adagp/base/io/wire.h"

namespace {

void read_or_reject(const std::string& file) {
  try {
    adagp::io::read_scalars(file, "fuzz");
  } catch (const adagp::DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp::io;
  const std::string input(reinterpret_cast<const char*>(bytes), count);
  read_or_reject(input);
  WireWriter frame;
  frame.append(static_cast<uint64_t>(count));
  frame.append(masked_crc32c(frame.str()));
  const uint32_t crc = masked_crc32c(input);
  read_or_reject(frame.str() + input + std::string(reinterpret_cast<const char*>(&crc), 4));
  return 0;
}
