// Any bytes are either a DataError or an annotation; the boxes that pass lie in its image.

#include <cstdlib>
#include <string_view>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/sets/voc_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  constexpr double kLongestSide = 65535;
  for (const bool refuse : {false, true}) {
    try {
      const auto annotation =
          data::parse_voc({reinterpret_cast<const char*>(bytes), count}, "fuzz");
      data::BadBoxes bad;
      bad.refuse = refuse;
      for (const auto& [box, label, difficult] :
           data::checked_objects(annotation, {"cat", "dog"}, "fuzz", bad)) {
        const bool inside = box.left >= 0 && box.top >= 0 && box.left + 1 <= box.right &&
                            box.top + 1 <= box.bottom && box.right <= kLongestSide &&
                            box.bottom <= kLongestSide;
        if (!inside || label < 0 || label > 1) std::abort();
      }
    } catch (const DataError&) {
    }
  }
  return 0;
}
