#pragma once
// JSON of a LayoutRecord, for the files that hold one or several.

#include <nlohmann/json.hpp>

#include "adagp/engine/run/layout_record.h"

namespace adagp::run {

inline constexpr int64_t kLayoutFormat = 1;

nlohmann::ordered_json to_json(const LayoutRecord& record);
// Throws DataError or an error of the JSON library.
LayoutRecord record_from(const nlohmann::ordered_json& value);

}  // namespace adagp::run
