#pragma once
// Keys of recipes (docs/configuration.md) as Python gives them.

#include <string>
#include <utility>
#include <vector>

#include "adagp/base/config/run_config.h"

namespace adagp::python {

// (key, value in TOML).
using Settings = std::vector<std::pair<std::string, std::string>>;

// The default configuration with these keys set. Throws UsageError naming the key.
inline config::RunConfig config_of(const Settings& settings) {
  config::RunConfig config;
  core::Binding binding;
  config::bind(binding, config);
  for (const auto& [key, value] : settings) binding.set(key, value, "settings");
  return config;
}

}  // namespace adagp::python
