#include "adagp/engine/run/run_folder.h"

#include <algorithm>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/checkpoint_header.h"
#include "adagp/engine/run/environment_file.h"
#include "adagp/engine/run/old_run.h"
#include "adagp/engine/run/precision.h"

namespace adagp::run {
namespace {

constexpr uintmax_t kMostConfigBytes = 1 << 20;

std::string config_text(const config::RunConfig& config) {
  config::RunConfig copy = config;
  core::Binding binding;
  bind(binding, copy);
  return binding.to_toml();
}

// What is read or written under these names must not be a pipe or a device: they would block.
void refuse_special_entries(const core::fs::path& folder) {
  for (const std::string& name : run_entries()) {
    const bool is_folder =
        name == "tb" || name == "checkpoint" || name == "trace" || name == "operations";
    const core::fs::path path = folder / name;
    std::error_code ignored;
    if (!core::fs::exists(path, ignored)) continue;
    if (!is_folder) core::require_regular_file(path);
    if (is_folder && !core::fs::is_directory(path, ignored)) {
      throw DataError(path.string() + ": is no folder, expected one of a run's");
    }
  }
}

// What is written and removed here must not be another folder's.
void refuse_links(const core::fs::path& folder) {
  const auto refuse = [](const core::fs::path& path) {
    std::error_code ignored;
    if (!core::fs::is_symlink(core::fs::symlink_status(path, ignored))) return;
    throw DataError(path.string() +
                    ": is a link, and a run writes in its own folder alone; put the file or folder "
                    "itself there, or choose another -o");
  };
  for (const std::string& name : run_entries()) {
    refuse(folder / name);
    std::error_code no_folder;
    for (const auto& entry : core::fs::directory_iterator(folder / name, no_folder)) {
      refuse(entry.path());
    }
  }
}

// A summary of another run may have been put there.
std::vector<std::string> foreign_values(const report::Summary& summary,
                                        const config::RunConfig& config) {
  std::vector<std::string> differing;
  const auto compare = [&](const char* key, const auto& found, const auto& expected) {
    if (found != expected) differing.push_back(core::cat(key, " ", found, ", expected ", expected));
  };
  compare("method", summary.method, config.method);
  compare("model", summary.model, config.model.name);
  compare("data", summary.data, config.data.name);
  compare("seed", summary.seed, config.seed);
  compare("epochs", summary.epochs, config.epochs);
  compare("batch", summary.batch, config.batch);
  return differing;
}

// A folder that holds no run, but something else: a slip of the user, or meant.
void warn_of_other_files(const core::fs::path& folder) {
  if (core::fs::exists(folder / "config.toml")) return;
  std::vector<std::string> found;
  for (const auto& entry : core::fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::vector<std::string>& own = run_entries();
    if (name.starts_with('.') || std::find(own.begin(), own.end(), name) != own.end()) continue;
    found.push_back(name);
  }
  if (found.empty()) return;
  const std::string first = *std::min_element(found.begin(), found.end());
  const std::string more = found.size() > 1 ? core::cat(" and ", found.size() - 1, " more") : "";
  core::log_warning(core::cat(folder.string(), ": other files are here (", first, more,
                              "); the files of the run go beside them"));
}

// The lock is all that a run leaves that was refused. Whatever else is there stays.
void remove_if_unused(const core::FolderHandle& handle) {
  std::error_code ignored;
  try {
    const core::fs::path folder = handle.path();
    for (const auto& entry : core::fs::directory_iterator(folder)) {
      if (entry.path().filename() != ".lock") return;
    }
    core::fs::remove(folder / ".lock", ignored);
    core::fs::remove(folder, ignored);
  } catch (const std::exception&) {
    return;  // the folder is gone, or cannot be read
  }
}

}  // namespace

std::vector<std::string> differing_keys(config::RunConfig a, config::RunConfig b) {
  core::Binding left, right;
  bind(left, a);
  bind(right, b);
  std::vector<std::string> keys = left.differences(right);
  std::erase_if(keys, [](const std::string& key) {
    const auto& cosmetic = config::cosmetic_keys();
    return std::find(cosmetic.begin(), cosmetic.end(), key) != cosmetic.end();
  });
  return keys;
}

void refuse_own_inputs(const config::RunConfig& config, const core::fs::path& folder) {
  const auto refuse_if_inside = [&](const char* key, const core::fs::path& input) {
    if (input.empty()) return;
    std::error_code ignored;
    const core::fs::path at = core::fs::weakly_canonical(input, ignored);
    for (const std::string& name : run_entries()) {
      const core::fs::path lost = core::fs::weakly_canonical(folder / name, ignored);
      if (lost.empty()) continue;  // it cannot be read
      if (std::mismatch(lost.begin(), lost.end(), at.begin(), at.end()).first != lost.end())
        continue;
      throw UsageError(core::cat(key, " = '", input.string(),
                                 "': --overwrite would remove it with the run that is there; copy "
                                 "it elsewhere first, or choose another folder"));
    }
  };
  refuse_if_inside("weights", config.weights);
  refuse_if_inside("model.backbone_weights", config.model.backbone_weights);
  if (!config.equal_time_reference.empty()) {
    refuse_if_inside("equal_time.reference",
                     core::fs::path(config.equal_time_reference) / "summary.json");
  }
}

config::RunConfig read_config(const core::fs::path& folder) {
  const auto file = folder / "config.toml";
  config::RunConfig config;
  core::Binding binding;
  bind(binding, config);
  const std::string text = core::read_regular_file(file, kMostConfigBytes);
  try {
    binding.load_toml(text, file.string());
  } catch (const UsageError& error) {
    throw DataError(core::cat(file.string(), ": not a run's configuration: ", error.what()));
  }
  return config;
}

RunFolder::RunFolder(const core::fs::path& path, config::RunConfig& config, bool overwrite)
    : created_(!core::fs::exists(path)) {
  core::make_folder(path);
  handle_ = std::make_unique<core::FolderHandle>(path);
  lock_ = std::make_unique<core::FileLock>(path / ".lock", path.string());
  settle_old_run(path);
  for (const std::string& name : run_entries()) core::remove_temporaries(path, name);
  core::remove_temporaries(path / "operations", "");
  if (!overwrite) {
    open_existing(config);
    if (!finished()) refuse_links(path);
    if (!created_) warn_of_other_files(path);
    return;
  }
  resolve_precision(config);
  if (has_run(path)) {
    refuse_own_inputs(config, path);
    old_ = Old::kInPlace;
  }
}

RunFolder::~RunFolder() {
  if (created_) remove_if_unused(*handle_);
  if (old_ != Old::kAside) return;
  try {
    put_old_run_back(path());
    core::log_info(path().string() + ": holds the old run again");
  } catch (const std::exception& error) {
    core::log_error(error.what());
  }
}

void RunFolder::open_existing(config::RunConfig& config) {
  const core::fs::path folder = path();
  refuse_special_entries(folder);
  if (!core::fs::exists(folder / "config.toml")) {
    if (core::fs::exists(folder / "summary.json") || core::fs::exists(folder / "checkpoint")) {
      throw DataError(folder.string() +
                      ": has a run's files but no config.toml; --overwrite starts anew");
    }
    resolve_precision(config);
    return;
  }
  const config::RunConfig stored = read_config(folder);
  id_ = run_id(read_environment(folder));
  if (config.equal_time_batches == 0) config.equal_time_batches = stored.equal_time_batches;
  // A run that was finished elsewhere in bf16 is shown here as well.
  if (config.precision != stored.precision) resolve_precision(config);
  const auto keys = differing_keys(config, stored);
  if (keys == std::vector<std::string>{"epochs"} && config.epochs > stored.epochs) {
    shorter_epochs_ = stored.epochs;
    return;
  }
  if (!keys.empty()) {
    throw UsageError(core::cat(folder.string(), ": holds a run with another configuration (",
                               core::join(keys, ", "),
                               "); choose another folder, or start anew with --overwrite"));
  }
  const core::fs::path summary = folder / "summary.json";
  if (!core::fs::exists(summary)) return;
  const auto refuse = [](const std::string& why) {
    throw DataError(why +
                    "; delete it and give the same command again: the run is finished from its "
                    "last checkpoint");
  };
  try {
    summary_ = report::Summary::read(summary);
  } catch (const DataError& error) {
    refuse(error.what());
  }
  const auto other = foreign_values(*summary_, stored);
  if (!other.empty()) {
    refuse(core::cat(summary.string(), ": is of another run than config.toml (",
                     core::join(other, "; "), ")"));
  }
}

// Without its summary the run is unfinished, and an interruption before the next line does no harm:
// the same command extends it again.
void RunFolder::extend(const config::RunConfig& config) {
  core::fs::remove(file("summary.json"));
  core::write_file(file("config.toml"), config_text(config));
  shorter_epochs_.reset();
}

void RunFolder::begin(const config::RunConfig& config, nlohmann::ordered_json environment) {
  if (old_ == Old::kInPlace) {
    set_old_run_aside(path());
    old_ = Old::kAside;
  }
  core::write_file(file("config.toml"), config_text(config));
  id_ = new_run_id();
  environment["run"] = id_;
  core::write_file(
      file(kEnvironmentFile),
      environment.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void RunFolder::saved() {
  // First: from here on the new run counts, even where the old one cannot be removed.
  if (std::exchange(old_, Old::kNone) != Old::kAside) return;
  try {
    remove_old_run(path());
  } catch (const Error& error) {
    core::log_warning(error.what());
  }
}

void RunFolder::finish(const report::Summary& summary) {
  saved();
  core::write_file(file("summary.json"), summary.to_json().dump(2) + "\n");
  summary_ = summary;
}

}  // namespace adagp::run
