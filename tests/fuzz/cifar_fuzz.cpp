// Any bytes are either a DataError or whole images with a label each.

#include <cstdlib>
#include <string_view>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/sets/cifar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  const std::string_view input(reinterpret_cast<const char*>(bytes), count);
  for (const int label_bytes : {1, 2}) {
    try {
      const auto records = data::parse_cifar(input, "fuzz", label_bytes);
      const size_t images = records.labels.size();
      if (records.pixels.size() != images * data::kCifarPixels) std::abort();
      if (images * (data::kCifarPixels + static_cast<size_t>(label_bytes)) != count) std::abort();
      for (const int64_t label : records.labels) {
        if (label < 0 || label >= (label_bytes == 1 ? 10 : 100)) std::abort();
      }
    } catch (const DataError&) {
    }
  }
  return 0;
}
