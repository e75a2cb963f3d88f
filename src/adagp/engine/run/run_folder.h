#pragma once
// A run's folder: who may write in it, whether it is new, unfinished or finished, and its files.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/folder_handle.h"
#include "adagp/results/report/summary.h"

namespace adagp::run {

class RunFolder {
 public:
  // Creates and locks the folder. A folder with another configuration is refused (UsageError naming
  // the keys) unless `overwrite`: a run that is there is then replaced, not before the new one
  // begins. One with fewer epochs and otherwise the same is left to extend(). What a former start
  // resolved (the budget of equal-time) is taken over into `config`, and a precision that this
  // machine cannot have is replaced there (a team replaces it before, so that a run finished in
  // bf16 elsewhere is shown to a single process alone).
  RunFolder(const core::fs::path& path, config::RunConfig& config, bool overwrite);
  // A run that was to be replaced comes back when the new one has no checkpoint. A folder that was
  // created for a run which then did not begin goes away again.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Where the folder is now; it may be moved while a run works in it. Throws Error when it is gone.
  core::fs::path path() const { return handle_->path(); }
  core::fs::path file(const std::string& name) const { return path() / name; }
  // Whether it was moved. What is written follows it, but whoever started the run looks elsewhere.
  bool moved() const { return handle_->moved(); }
  bool finished() const { return summary_.has_value(); }
  const report::Summary& summary() const { return *summary_; }
  // Of the run that is there or has begun, as environment.json says; empty: not known.
  const std::string& id() const { return id_; }
  // Whether the run that is there is not to be resumed.
  bool replaces() const { return old_ != Old::kNone; }

  // Of the run in the folder, where it is a shorter one of the same configuration.
  const std::optional<int64_t>& shorter_epochs() const { return shorter_epochs_; }
  // The shorter run becomes one of `config` that is not finished. Its weights and its best ones
  // stay until the longer run has others.
  void extend(const config::RunConfig& config);

  // When everything the new run needs is loaded: sets the run aside that it replaces.
  // Adds the new run's id to `environment`.
  void begin(const config::RunConfig& config, nlohmann::ordered_json environment);
  void saved();                                 // a checkpoint: the replaced run is removed
  void finish(const report::Summary& summary);  // summary.json, last of all

 private:
  enum class Old { kNone, kInPlace, kAside };

  void open_existing(config::RunConfig& config);

  std::unique_ptr<core::FolderHandle> handle_;
  std::unique_ptr<core::FileLock> lock_;
  std::optional<report::Summary> summary_;
  std::optional<int64_t> shorter_epochs_;
  std::string id_;
  Old old_ = Old::kNone;
  bool created_ = false;  // by this object
};

// --overwrite would remove what the new run is to start from. Throws UsageError.
void refuse_own_inputs(const config::RunConfig& config, const core::fs::path& folder);

// The keys in which two configurations differ, less those that do not matter.
std::vector<std::string> differing_keys(config::RunConfig a, config::RunConfig b);

// The configuration a folder was started with. Throws DataError when it has none.
config::RunConfig read_config(const core::fs::path& folder);

}  // namespace adagp::run
