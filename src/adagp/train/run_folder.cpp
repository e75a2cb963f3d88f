#include "adagp/train/run_folder.h"

#include <algorithm>
#include <ctime>
#include <thread>

#include <ATen/Parallel.h>
#include <torch/version.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::train {
namespace {

constexpr const char* kFiles[] = {"config.toml",      "metrics.jsonl",    "tb",
                                  "checkpoint",       "layers.csv",       "weights.safetensors",
                                  "best.safetensors", "environment.json", "summary.json"};

std::string config_text(const Config& config) {
  Config copy = config;
  core::Binding binding;
  bind(binding, copy);
  return binding.to_toml();
}

// The keys in which two configurations differ, less those that do not matter.
std::vector<std::string> differing_keys(Config a, Config b) {
  core::Binding left, right;
  bind(left, a);
  bind(right, b);
  std::vector<std::string> keys = left.differences(right);
  std::erase_if(keys, [](const std::string& key) {
    const auto& cosmetic = cosmetic_keys();
    return std::find(cosmetic.begin(), cosmetic.end(), key) != cosmetic.end();
  });
  return keys;
}

}  // namespace

Config read_config(const core::fs::path& folder) {
  const auto file = folder / "config.toml";
  Config config;
  core::Binding binding;
  bind(binding, config);
  const std::string text = core::read_file(file);
  try {
    binding.load_toml(text, file.string());
  } catch (const UsageError& error) {
    throw DataError(core::cat(file.string(), ": not a run's configuration: ", error.what()));
  }
  return config;
}

RunFolder::RunFolder(core::fs::path path, Config& config, bool overwrite) : path_(std::move(path)) {
  core::make_folder(path_);
  lock_ = std::make_unique<core::FileLock>(path_ / ".lock", path_.string());
  if (overwrite) clear();
  if (!core::fs::exists(file("config.toml"))) {
    if (core::fs::exists(file("summary.json")) || core::fs::exists(file("checkpoint"))) {
      throw DataError(path_.string() +
                      ": has a run's files but no config.toml; --overwrite starts anew");
    }
    return;
  }
  const Config stored = read_config(path_);
  if (config.equal_time_batches == 0) config.equal_time_batches = stored.equal_time_batches;
  const auto keys = differing_keys(config, stored);
  if (!keys.empty()) {
    throw UsageError(core::cat(path_.string(), ": holds a run with another configuration (",
                               core::join(keys, ", "),
                               "); choose another folder, or start anew with --overwrite"));
  }
  if (!core::fs::exists(file("summary.json"))) return;
  try {
    summary_ = Summary::read(file("summary.json"));
  } catch (const DataError& error) {
    throw DataError(core::cat(error.what(),
                              "; delete it and give the same command again: the run is finished "
                              "from its last checkpoint"));
  }
}

void RunFolder::clear() const {
  for (const char* name : kFiles) {
    std::error_code ignored;
    core::fs::remove_all(path_ / name, ignored);
  }
}

void RunFolder::write_config(const Config& config) const {
  core::write_file(file("config.toml"), config_text(config));
}

void RunFolder::write_environment(const std::string& device) const {
  const std::time_t now = std::time(nullptr);
  char stamp[32];
  std::strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  const nlohmann::json json{{"started", stamp},
                            {"device", device},
                            {"threads", at::get_num_threads()},
                            {"cores", std::thread::hardware_concurrency()},
                            {"libtorch", TORCH_VERSION},
                            {"compiler", __VERSION__}};
  core::write_file(file("environment.json"), json.dump(2) + "\n");
}

void RunFolder::finish(const Summary& summary) {
  core::write_file(file("summary.json"), summary.to_json().dump(2) + "\n");
  summary_ = summary;
}

}  // namespace adagp::train
