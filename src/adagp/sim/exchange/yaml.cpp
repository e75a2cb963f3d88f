#include "adagp/sim/exchange/yaml.h"

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"

namespace adagp::exchange::yaml {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string list(const std::vector<std::string>& items) {
  return "[" + core::join(items, ", ") + "]";
}

}  // namespace adagp::exchange::yaml
