#pragma once

#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"

namespace adagp::testing {

// The lines of a file of JSON objects.
inline std::vector<nlohmann::json> records_of(const core::fs::path& path) {
  std::istringstream text(core::read_file(path));
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(text, line);) records.push_back(nlohmann::json::parse(line));
  return records;
}

}  // namespace adagp::testing
