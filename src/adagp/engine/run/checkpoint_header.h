#pragma once
// What a checkpoint says beside its tensors: how far the run is, and which run it is. Torch-free.

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"

namespace adagp::run {

// Which run a folder or a checkpoint is of.
struct RunIdentity {
  std::string id;    // "run" of environment.json; empty: not known
  std::string data;  // task/fingerprint.h; empty: not known
  config::RunConfig config;
};

struct CheckpointHeader {
  int64_t step = 0;      // batches done
  nlohmann::json state;  // counters, meters, seconds; "run": the identity
};

// Both throw DataError; the caller adds the file.
CheckpointHeader parse_checkpoint_header(std::string_view text);
RunIdentity identity_in(const nlohmann::json& state);

nlohmann::json to_json(const RunIdentity& identity);

// A new run's.
std::string new_run_id();

// In what the first differs from the second: "seed 2, expected 1". Keys that do not matter and
// parts that one of the two does not know are left out.
std::vector<std::string> differences(RunIdentity found, RunIdentity expected);

}  // namespace adagp::run
