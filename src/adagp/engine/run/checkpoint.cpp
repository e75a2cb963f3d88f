#include "adagp/engine/run/checkpoint.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/gpu/device/pieces.h"

namespace adagp::run {
namespace {

constexpr const char* kStateKey = "adagp.checkpoint";
constexpr size_t kKept = 2;

void require_finite(const Snapshot& snapshot) {
  for (const auto& [name, tensor] : snapshot.tensors) {
    // The probes' last values may be undefined; everything else feeds the run.
    if (name.starts_with("probes.") || !tensor.is_floating_point()) continue;
    const auto parts = device::pieces(tensor);
    if (std::all_of(parts.begin(), parts.end(),
                    [](const at::Tensor& part) { return at::isfinite(part).all().item<bool>(); })) {
      continue;
    }
    throw DivergedError(core::cat("diverged: '", name, "' is not finite after batch ",
                                  snapshot.step,
                                  " of the run; checkpoints made before are kept; lower optim.lr "
                                  "or set clip"));
  }
}

std::string file_name(int64_t step) {
  std::string number = std::to_string(step);
  number.insert(0, number.size() < 10 ? 10 - number.size() : 0, '0');
  return "step-" + number + ".safetensors";
}

Snapshot read_checkpoint(const core::fs::path& file) {
  core::require_regular_file(file);
  io::TensorFile loaded = io::load_tensors(file);
  const auto found = loaded.metadata.find(kStateKey);
  if (found == loaded.metadata.end()) throw DataError(file.string() + ": not an adagp checkpoint");
  try {
    CheckpointHeader header = parse_checkpoint_header(found->second);
    // By its name it would count as newer or older than it is.
    if (file.filename() != file_name(header.step)) {
      throw DataError(
          core::cat("is of batch ", header.step, ", expected the name ", file_name(header.step)));
    }
    return {header.step, std::move(loaded.tensors), std::move(header.state), file};
  } catch (const DataError& error) {
    throw DataError(core::cat(file.string(), ": corrupt state: ", error.what()));
  }
}

// What is wrong with a checkpoint, without the advice for files that came from elsewhere.
std::string complaint(const DataError& error) {
  const std::string text = error.what();
  return text.substr(0, text.find(io::kFetchAgain));
}

}  // namespace

io::TensorMap Snapshot::under(const std::string& prefix) const {
  io::TensorMap part;
  for (auto at = tensors.lower_bound(prefix + "."); at != tensors.end(); ++at) {
    if (!at->first.starts_with(prefix + ".")) break;
    part[at->first.substr(prefix.size() + 1)] = at->second;
  }
  return part;
}

void Snapshot::put(const std::string& prefix, const io::TensorMap& part) {
  for (const auto& [name, tensor] : part) tensors[prefix + "." + name] = tensor;
}

std::vector<core::fs::path> checkpoint_files(const core::fs::path& folder) {
  std::vector<core::fs::path> files;
  std::error_code error;
  for (const auto& entry : core::fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && name.ends_with(".safetensors")) files.push_back(entry.path());
  }
  std::sort(files.rbegin(), files.rend());
  return files;
}

void Checkpoints::save(const Snapshot& snapshot) const {
  require_finite(snapshot);
  core::make_folder(folder_);
  nlohmann::json state = snapshot.state;
  state["step"] = snapshot.step;
  io::save_tensors(folder_ / file_name(snapshot.step), snapshot.tensors,
                   {{kStateKey, state.dump()}});
  tidy();
}

void Checkpoints::tidy() const {
  std::error_code ignored;
  const auto files = checkpoint_files(folder_);
  for (size_t i = kKept; i < files.size(); ++i) core::fs::remove(files[i], ignored);
  // A process killed while writing leaves its half.
  core::remove_temporaries(folder_, "step-");
}

std::optional<Snapshot> Checkpoints::load_newest() const {
  const auto files = checkpoint_files(folder_);
  std::vector<core::fs::path> broken;
  for (const auto& file : files) {
    try {
      Snapshot snapshot = read_checkpoint(file);
      // Out of the way, or they would take the place of good ones among those that are kept.
      for (const auto& bad : broken) core::fs::rename(bad, bad.string() + ".corrupt");
      return snapshot;
    } catch (const DataError& error) {
      core::log_warning(complaint(error) + "; trying the checkpoint before");
    }
    broken.push_back(file);
  }
  if (files.empty()) return {};
  throw DataError(core::cat(folder_.string(), ": none of ", files.size(),
                            " checkpoints can be read; --overwrite starts the run anew"));
}

}  // namespace adagp::run
