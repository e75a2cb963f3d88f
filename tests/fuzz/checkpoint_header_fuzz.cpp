// Any state of a checkpoint is either a DataError or names a run that is written and read back the
// same.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "adagp/base/core/error.h"
#include "adagp/engine/run/checkpoint_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  try {
    const auto header =
        run::parse_checkpoint_header(std::string_view(reinterpret_cast<const char*>(bytes), count));
    if (header.step < 0) std::abort();
    const run::RunIdentity found = run::identity_in(header.state);
    for (const std::string& line : run::differences(found, {"0", "1+1 images, 00", {}})) {
      if (line.find('\n') != std::string::npos) std::abort();
    }
    const run::RunIdentity again = run::identity_in({{"run", run::to_json(found)}});
    if (!run::differences(again, found).empty()) std::abort();
  } catch (const DataError&) {
  }
  return 0;
}
