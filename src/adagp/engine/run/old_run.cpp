#include "adagp/engine/run/old_run.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::run {
namespace {

// While this is there, the old run is partly in it and nothing outside is its successor's.
constexpr const char* kMoving = ".old-run.moving";
// While this is there, the old run is in it and all outside is its successor's.
constexpr const char* kAside = ".old-run";

bool is_there(const core::fs::path& path) {
  std::error_code ignored;
  return core::fs::exists(core::fs::symlink_status(path, ignored));
}

bool is_folder(const core::fs::path& path) {
  std::error_code ignored;
  return core::fs::is_directory(core::fs::symlink_status(path, ignored));
}

void rename_to(const core::fs::path& from, const core::fs::path& to) {
  std::error_code error;
  core::fs::rename(from, to, error);
  if (error) throw Error(core::cat(from.string(), ": cannot be moved: ", error.message()));
}

void discard(const core::fs::path& path) {
  std::error_code error;
  core::fs::remove_all(path, error);
  if (error) throw Error(core::cat(path.string(), ": cannot be removed: ", error.message()));
}

void move_all(const core::fs::path& from, const core::fs::path& to) {
  for (const std::string& name : run_entries()) {
    if (is_there(from / name)) rename_to(from / name, to / name);
  }
}

void move_back(const core::fs::path& folder) {
  move_all(folder / kMoving, folder);
  discard(folder / kMoving);
}

// Whether the successor has a checkpoint, of the program (step-*.safetensors) or of the Python
// package (python.pt), or is finished without one. Halves of files and what a file system or a
// person left there do not count.
bool successor_counts(const core::fs::path& folder) {
  if (is_there(folder / "summary.json")) return true;
  std::error_code error;
  for (const auto& entry : core::fs::directory_iterator(folder / "checkpoint", error)) {
    const std::string name = entry.path().filename().string();
    if (name == "python.pt") return true;
    if (name.starts_with("step-") && entry.path().extension() == ".safetensors") return true;
  }
  return false;
}

}  // namespace

const std::vector<std::string>& run_entries() {
  static const std::vector<std::string> names{"config.toml",
                                              "metrics.jsonl",
                                              "tb",
                                              "checkpoint",
                                              "layers.csv",
                                              "operations",
                                              "convolutions.json",  // of earlier versions
                                              "weights.safetensors",
                                              "best.safetensors",
                                              "environment.json",
                                              "summary.json",
                                              "trace"};
  return names;
}

bool has_run(const core::fs::path& folder) {
  const auto& names = run_entries();
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return is_there(folder / name); });
}

void set_old_run_aside(const core::fs::path& folder) {
  std::error_code error;
  if (!core::fs::create_directory(folder / kMoving, error)) {
    throw Error(core::cat(folder.string(), ": the old run cannot be replaced: ",
                          error ? error.message() : std::string(kMoving) + " is in the way",
                          "; it is as it was"));
  }
  try {
    move_all(folder, folder / kMoving);
    rename_to(folder / kMoving, folder / kAside);
  } catch (const Error&) {
    move_back(folder);
    throw;
  }
}

void put_old_run_back(const core::fs::path& folder) {
  if (is_folder(folder / kAside)) {
    for (const std::string& name : run_entries()) discard(folder / name);
    rename_to(folder / kAside, folder / kMoving);
  }
  if (is_folder(folder / kMoving)) move_back(folder);
}

void remove_old_run(const core::fs::path& folder) {
  discard(folder / kAside);
}

void settle_old_run(const core::fs::path& folder) {
  if (is_folder(folder / kAside) && successor_counts(folder)) {
    try {
      remove_old_run(folder);
    } catch (const Error& error) {
      core::log_warning(error.what());
    }
    return;
  }
  if (!is_folder(folder / kAside) && !is_folder(folder / kMoving)) return;
  put_old_run_back(folder);
  core::log_warning(folder.string() +
                    ": holds the old run again: overwriting it was interrupted before the new one "
                    "had a checkpoint");
}

}  // namespace adagp::run
