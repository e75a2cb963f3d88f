#include "adagp/lab/experiment/rerun.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/threads.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/run/environment.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/engine/task/fingerprint.h"
#include "adagp/engine/train/build.h"
#include "adagp/gpu/device/choose_device.h"

namespace adagp::experiment {
namespace {

using nlohmann::ordered_json;

report::Summary finished_summary(const core::fs::path& folder) {
  if (!core::fs::exists(folder / "config.toml")) {
    throw DataError(core::cat(folder.string(), ": no run is there (no config.toml)"));
  }
  if (!core::fs::exists(folder / "summary.json")) {
    throw DataError(
        core::cat(folder.string(), ": the run is not finished; go on with 'adagp train' first"));
  }
  return report::Summary::read(folder / "summary.json");
}

void refuse_several_processes(const ordered_json& environment, const core::fs::path& folder) {
  if (!environment.contains("command") || !environment["command"].is_array()) return;
  for (const auto& word : environment["command"]) {
    if (word.is_string() && word.get<std::string>().rfind("--parallel", 0) == 0) {
      throw UsageError(core::cat(folder.string(),
                                 ": several processes trained it; its command is in ",
                                 "environment.json, give it again with another -o"));
    }
  }
}

std::optional<double> largest_difference(const core::fs::path& a, const core::fs::path& b) {
  const io::TensorMap first = io::load_tensors(a).tensors, second = io::load_tensors(b).tensors;
  if (first.size() != second.size()) return std::nullopt;
  double largest = 0;
  for (const auto& [name, tensor] : first) {
    const auto found = second.find(name);
    if (found == second.end() || found->second.sizes() != tensor.sizes()) return std::nullopt;
    if (tensor.numel() == 0) continue;
    const at::Tensor difference = tensor.to(at::kDouble) - found->second.to(at::kDouble);
    largest = std::max(largest, difference.abs().max().item<double>());
  }
  return largest;
}

// A run compared with itself is always equal.
void refuse_same_folder(const core::fs::path& folder, const core::fs::path& output) {
  for (const char* name : {"", "weights.safetensors"}) {
    std::error_code not_there;
    if (!core::fs::equivalent(folder / name, output / name, not_there)) continue;
    throw UsageError(core::cat("reproduce: -o ", output.string(), " is the run itself (",
                               folder.string(), "); choose another folder"));
  }
}

}  // namespace

std::string Rerun::text() const {
  const auto score = [](const report::Summary& summary) { return report::one_line(summary); };
  std::string out = core::cat("before: ", score(before), "\nnow:    ", score(after), "\n");
  if (bytes_equal) return out + "equal: the weights of both runs are the same bytes\n";
  out += "not equal: the weights differ";
  if (largest_difference) out += core::cat(" by at most ", core::shortest(*largest_difference));
  if (!exact) {
    return out + (!environment.empty()    ? "; see above for what is not as it was\n"
                  : after.device == "cpu" ? "; what made the run before is not recorded\n"
                                          : "; on a GPU sums may come in another order\n");
  }
  return out + ", although nothing that was recorded differs\n";
}

ordered_json Rerun::to_json() const {
  ordered_json out{{"run", before_folder.string()}, {"rerun", after_folder.string()},
                   {"bytes_equal", bytes_equal},    {"equality_expected", exact},
                   {"differences", environment},    {"before", before.to_json()},
                   {"now", after.to_json()}};
  if (largest_difference) out["largest_difference"] = *largest_difference;
  return out;
}

Rerun rerun(const core::fs::path& folder, const core::fs::path& output) {
  Rerun out;
  out.before_folder = folder;
  out.after_folder = output;
  refuse_same_folder(folder, output);
  out.before = finished_summary(folder);
  const core::fs::path first = folder / "weights.safetensors",
                       second = output / "weights.safetensors";
  core::require_regular_file(first);
  io::SafeTensors::read(first);  // damaged weights are noticed before the training
  const ordered_json before = run::read_environment(folder);
  if (before.empty()) {
    core::log_warning(core::cat((folder / run::kEnvironmentFile).string(),
                                ": missing or not readable: what differs is not known"));
  }
  refuse_several_processes(before, folder);
  config::RunConfig config = run::read_config(folder);
  // Sums on a CPU depend on the number of threads.
  if (config.threads == 0 && before.contains("threads") && before["threads"].is_number_integer()) {
    config.threads = before["threads"].get<int64_t>();
    core::check_thread_count((folder / run::kEnvironmentFile).string() + ": threads",
                             config.threads);
  }
  train::set_threads(config);
  const task::TaskPtr task = task::open_task(config);
  const at::Device device = device::choose_device(config.device);
  config::RunConfig resolved = config;
  task->resolve(resolved);
  const ordered_json now = run::environment(device, task::fingerprint(*task, resolved));
  out.environment = run::environment_differences(before, now);
  for (const std::string& difference : out.environment) {
    core::log_warning(core::cat("reproduce: ", difference, "; the result may differ"));
  }
  out.exact = device.is_cpu() && out.environment.empty() && !before.empty();
  out.after = train::train(config, task, output);
  refuse_same_folder(folder, output);
  out.bytes_equal = core::read_regular_file(first) == core::read_regular_file(second);
  if (!out.bytes_equal) out.largest_difference = largest_difference(first, second);
  return out;
}

}  // namespace adagp::experiment
