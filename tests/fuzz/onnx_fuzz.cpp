// Any bytes are either an Error or a network whose table can be written. (Sizes that a file leaves
// free are a UsageError.)

#include <cstdint>
#include <string_view>

#include "adagp/base/core/error.h"
#include "adagp/sim/layers/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  try {
    const auto exported = layers::parse_onnx(
        std::string_view(reinterpret_cast<const char*>(bytes), count), "fuzz", "fuzz.onnx");
    layers::to_csv(exported.table);
  } catch (const DataError&) {
  } catch (const UsageError&) {
  }
  return 0;
}
