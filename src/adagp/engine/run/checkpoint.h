#pragma once
// Everything needed to go on as if nothing had happened, in one safetensors file per checkpoint.

#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/run/checkpoint_header.h"

namespace adagp::run {

// NOLINTNEXTLINE(bugprone-exception-escape): of its JSON, whose move throws nothing
struct Snapshot {
  int64_t step = 0;       // batches done
  io::TensorMap tensors;  // "net.*", "optimizer.*", "predictor.*", "method.*", "probes.*", ...
  nlohmann::json state;   // counters, meters, seconds; "run": which run it is
  core::fs::path file;    // empty: not read from one

  // The part of `tensors` under "prefix.", with the prefix removed; and its inverse.
  io::TensorMap under(const std::string& prefix) const;
  void put(const std::string& prefix, const io::TensorMap& part);
};

// The checkpoints in a folder, newest first.
std::vector<core::fs::path> checkpoint_files(const core::fs::path& folder);

// A folder of checkpoints of which the last two are kept.
class Checkpoints {
 public:
  explicit Checkpoints(core::fs::path folder) : folder_(std::move(folder)) {}

  // Throws DivergedError when a tensor of the run is not finite: a poisoned
  // checkpoint must not push out a good one.
  void save(const Snapshot& snapshot) const;
  // The newest that can be read; a corrupt one is reported and the one before is tried. Throws
  // DataError when there are some and none can be read.
  std::optional<Snapshot> load_newest() const;
  // Removes all but the last two: a killed process may have left more. Call it when the newest is
  // known to be of this run; another's would take the place of one of ours.
  void tidy() const;

 private:
  core::fs::path folder_;
};

}  // namespace adagp::run
