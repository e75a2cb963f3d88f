#pragma once
// A run's folder: who may write in it, whether it is new, unfinished or finished, and its files.

#include <memory>
#include <optional>

#include "adagp/core/files.h"
#include "adagp/train/config.h"
#include "adagp/train/summary.h"

namespace adagp::train {

class RunFolder {
 public:
  // Creates and locks the folder. A folder with another configuration is refused (UsageError naming
  // the keys) unless `overwrite`, which clears it. What a former start resolved (the budget of
  // equal-time) is taken over into `config`.
  RunFolder(core::fs::path path, Config& config, bool overwrite);

  const core::fs::path& path() const { return path_; }
  core::fs::path file(const std::string& name) const { return path_ / name; }
  bool finished() const { return summary_.has_value(); }
  const Summary& summary() const { return *summary_; }

  void write_config(const Config& config) const;
  void write_environment(const std::string& device) const;
  void finish(const Summary& summary);  // summary.json, last of all

 private:
  void clear() const;

  core::fs::path path_;
  std::unique_ptr<core::FileLock> lock_;
  std::optional<Summary> summary_;
};

// The configuration a folder was started with. Throws DataError when it has none.
Config read_config(const core::fs::path& folder);

}  // namespace adagp::train
