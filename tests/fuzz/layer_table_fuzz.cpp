// Any text is either a DataError or a table that reads back as it is written.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/sim/layers/table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  try {
    const auto table =
        layers::from_csv(std::string(reinterpret_cast<const char*>(bytes), count), "fuzz");
    const std::string text = layers::to_csv(table);
    if (layers::to_csv(layers::from_csv(text, "again")) != text) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
