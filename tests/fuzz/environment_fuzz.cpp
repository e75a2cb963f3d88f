// Any bytes of environment.json are an object, and what differs from it is said in single lines.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "adagp/engine/run/environment_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  const auto found =
      run::parse_environment(std::string_view(reinterpret_cast<const char*>(bytes), count));
  if (!found.is_object()) std::abort();
  run::run_id(found);
  const nlohmann::ordered_json now{{"version", "1"}, {"threads", 1}, {"data", "1+1 images, 00"}};
  const auto lines = run::environment_differences(found, now);
  if (lines.size() > now.size()) std::abort();
  for (const std::string& line : lines) {
    if (line.find('\n') != std::string::npos) std::abort();
  }
  if (!run::environment_differences(found, found).empty()) std::abort();
  return 0;
}
