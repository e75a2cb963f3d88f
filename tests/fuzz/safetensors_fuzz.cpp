// Any bytes are either a DataError or a file whose every tensor lies inside its data.

#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/base/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  try {
    const auto file =
        io::SafeTensors::parse(std::string(reinterpret_cast<const char*>(bytes), count), "fuzz");
    size_t at = 0;
    for (const auto& entry : file.entries()) {
      size_t expected = io::dtype_size(entry.dtype);
      for (const int64_t size : entry.shape) expected *= static_cast<size_t>(size);
      if (entry.begin != at || entry.end - entry.begin != expected) std::abort();
      at = entry.end;
    }
    if (at != file.data().size()) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
