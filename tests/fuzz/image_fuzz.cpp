// Any bytes are either a DataError or pixels, whole or in part; a part holds what was asked for.

#include <cstdlib>
#include <string_view>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/io/image/image.h"

namespace {

using namespace adagp::io;

void decode(std::string_view bytes, int reduction, bool part) {
  std::vector<uint8_t> pixels;
  Wanted wanted;
  try {
    const Decoded decoded = decode_image(
        bytes, "fuzz",
        [&](const ImageSize& size) {
          pixels.assign(static_cast<size_t>(size.height * size.width * 3), 0);
          return pixels.data();
        },
        [&](const ImageSize& whole) {
          // Headers may claim what would take seconds to fill.
          if (whole.height * whole.width > 1 << 18) throw adagp::DataError("large");
          wanted.reduction = reduction;
          const ImageSize size = Decoded{whole, reduction, {}}.reduced();
          if (part) {
            wanted.part = {size.height / 3, size.width / 3, (size.height + 2) / 3,
                           (size.width + 2) / 3};
          }
          return wanted;
        });
    const Part& got = decoded.part;
    if (pixels.size() != static_cast<size_t>(got.height * got.width * 3)) std::abort();
    if (decoded.reduction != wanted.reduction && decoded.reduction != 1) std::abort();
    if (decoded.reduction != wanted.reduction || wanted.part.height == 0) return;
    if (got.top > wanted.part.top || got.left > wanted.part.left ||
        got.top + got.height < wanted.part.top + wanted.part.height ||
        got.left + got.width < wanted.part.left + wanted.part.width) {
      std::abort();
    }
  } catch (const adagp::DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const std::string_view input(reinterpret_cast<const char*>(bytes), count);
  decode(input, 1, false);
  decode(input, 1, true);
  decode(input, 4, true);
  return 0;
}
