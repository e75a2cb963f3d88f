#pragma once
// Where a run was made and by what: environment.json of its folder.

#include <string>
#include <vector>

#include <ATen/Device.h>
#include <nlohmann/json.hpp>

#include "adagp/core/files.h"

namespace adagp::run {

// "Intel(R) Xeon(R) ..."; an ARM CPU by the numbers of its maker and model; empty: not known.
std::string cpu_name();

// started, command, version, commit, device, gpu, threads, cores, libtorch, cuda, compiler, data
// (the fingerprint of the data set).
nlohmann::ordered_json environment(const at::Device& device, const std::string& data);

// environment.json of a run folder; empty where the file is missing or cannot be read.
nlohmann::ordered_json read_environment(const core::fs::path& folder);

// What may change a result and differs: "libtorch 2.11.0, now 2.15.0". A key that one of the two
// lacks is left out.
std::vector<std::string> environment_differences(const nlohmann::ordered_json& before,
                                                 const nlohmann::ordered_json& now);

}  // namespace adagp::run
