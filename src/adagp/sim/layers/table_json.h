#pragma once
// Parts of a layer table as JSON, for the outputs of other commands. (to_json is in table.h, which
// needs no JSON library.)

#include <nlohmann/json_fwd.hpp>

#include "adagp/sim/layers/table.h"

namespace adagp::layers {

// An array: name, op, times and macs (null: not known) of every operation without a row.
nlohmann::ordered_json uncounted_json(const Table& table);
nlohmann::ordered_json missing_json(const Missing& missing);

}  // namespace adagp::layers
