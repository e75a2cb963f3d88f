// Any text is either a UsageError or a recipe that, written out, loads back to the same values.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/error.h"
#include "adagp/rivals/options/options.h"

namespace {

struct Recipe {
  Recipe() { adagp::config::bind(binding, config); }
  adagp::config::RunConfig config;
  adagp::core::Binding binding;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  static const bool rivals_are_here = (adagp::rivals::add_keys(), true);
  if (!rivals_are_here) std::abort();
  const std::string_view text(reinterpret_cast<const char*>(bytes), count);
  Recipe loaded;
  try {
    loaded.binding.load_toml(text, "fuzz.toml");
  } catch (const adagp::UsageError&) {
    return 0;
  }
  Recipe again;
  again.binding.load_toml(loaded.binding.to_toml(), "again.toml");  // throwing here is a bug
  if (!loaded.binding.differences(again.binding).empty()) std::abort();
  return 0;
}
