// Any JSON is either a DataError or a program whose table can be written.

#include <cstdint>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/sim/layers/pt2.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  try {
    const auto exported = layers::parse_pt2(
        std::string(reinterpret_cast<const char*>(bytes), count), "fuzz", "fuzz.pt2");
    layers::to_csv(exported.table);
  } catch (const DataError&) {
  }
  return 0;
}
