#include "adagp/engine/run/environment_file.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"

namespace adagp::run {

using nlohmann::ordered_json;

ordered_json parse_environment(std::string_view text) {
  auto out = core::try_parse_json<ordered_json>(text);
  return out && out->is_object() ? std::move(*out) : ordered_json::object();
}

ordered_json read_environment(const core::fs::path& folder) {
  try {
    return parse_environment(
        core::read_regular_file(folder / kEnvironmentFile, core::kMostJsonBytes));
  } catch (const Error&) {
    return ordered_json::object();
  }
}

std::string run_id(const ordered_json& environment) {
  const auto found = environment.find("run");
  return found != environment.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> environment_differences(const ordered_json& before,
                                                 const ordered_json& now) {
  std::vector<std::string> out;
  const auto text = [](const ordered_json& value) {
    return value.is_string() ? core::printable_line(value.get<std::string>()) : core::brief(value);
  };
  for (const char* key :
       {"version", "commit", "device", "gpu", "threads", "cpu", "libtorch", "compiler", "data"}) {
    if (!before.contains(key) || !now.contains(key) || before[key] == now[key]) continue;
    out.push_back(core::cat(key, " ", text(before[key]), ", now ", text(now[key])));
  }
  return out;
}

}  // namespace adagp::run
