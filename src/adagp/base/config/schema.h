#pragma once
// A JSON schema of the TOML files that a binding reads, for editors and validators.

#include <string>

#include "adagp/base/core/binding.h"

namespace adagp::config {

// Draft 7. Values of the bound fields are the defaults. What the schema takes, load_toml() takes,
// but for what no single key shows (a path that does not exist, two keys that exclude each other).
std::string json_schema(const core::Binding& binding, const std::string& title);

}  // namespace adagp::config
