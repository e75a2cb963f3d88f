// Any bytes are either a DataError or a trace whose bits can all be read.

#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/sim/arrays/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  try {
    const auto trace =
        arrays::parse_trace(std::string(reinterpret_cast<const char*>(bytes), count), "fuzz");
    for (const auto& layer : trace.layers) {
      for (const double share : layer.density) {
        if (!(share >= 0 && share <= 1)) std::abort();
      }
      for (const accel::ZeroBits* bits : {&layer.x, &layer.dy, &layer.w}) {
        if (bits->empty()) continue;
        if (bits->rows() * bits->row_bytes() != static_cast<int64_t>(bits->bytes.size())) {
          std::abort();
        }
        bits->at(bits->rows() - 1, bits->channels - 1);
      }
    }
  } catch (const DataError&) {
  }
  return 0;
}
