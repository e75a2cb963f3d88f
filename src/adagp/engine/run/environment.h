#pragma once
// Where a run was made and by what: environment.json of its folder.

#include <string>

#include <ATen/Device.h>
#include <nlohmann/json.hpp>

#include "adagp/engine/run/environment_file.h"

namespace adagp::run {

// "Intel(R) Xeon(R) ..."; an ARM CPU by the numbers of its maker and model; empty: not known.
std::string cpu_name();

// started, command, version, commit, device, gpu, threads, cores, libtorch, cuda, compiler, data
// (the fingerprint of the data set).
nlohmann::ordered_json environment(const at::Device& device, const std::string& data);

}  // namespace adagp::run
