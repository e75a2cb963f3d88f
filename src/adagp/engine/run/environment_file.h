#pragma once
// environment.json of a run folder, as a file that anybody may have changed. Torch-free.

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"

namespace adagp::run {

inline constexpr const char* kEnvironmentFile = "environment.json";

// An empty object where the text is no JSON object.
nlohmann::ordered_json parse_environment(std::string_view text);
// Of a run folder; empty where the file is missing or cannot be read.
nlohmann::ordered_json read_environment(const core::fs::path& folder);

// The run's identity, which its checkpoints carry, too; empty: not known.
std::string run_id(const nlohmann::ordered_json& environment);

// What may change a result and differs: "libtorch 2.11.0, now 2.15.0". A key that one of the two
// lacks is left out.
std::vector<std::string> environment_differences(const nlohmann::ordered_json& before,
                                                 const nlohmann::ordered_json& now);

}  // namespace adagp::run
