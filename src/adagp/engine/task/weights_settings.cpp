#include "adagp/engine/task/weights_settings.h"

#include <algorithm>
#include <string_view>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/safetensors.h"
#include "adagp/engine/data/image/augment.h"
#include "adagp/engine/data/sets/registry.h"

namespace adagp::task {
namespace {

// Where a configuration key is of use.
struct Key {
  std::string_view name;
  std::string_view of;  // "" = every task
};
constexpr Key kKeys[] = {{"data.name", ""},
                         {"data.mean", "images"},
                         {"data.std", "images"},
                         {"data.image_size", "images"},
                         {"data.synthetic_train", "synthetic"},
                         {"data.synthetic_test", "synthetic"},
                         {"data.synthetic_size", "synthetic"},
                         {"data.synthetic_seed", "synthetic"},
                         {"data.synthetic_noise", "synthetic"},
                         {"detection.anchors", "detection"},
                         {"detection.ignore", "detection"},
                         {"detection.confidence", "detection"},
                         {"detection.nms", "detection"},
                         {"translation.source", "translation"},
                         {"translation.target", "translation"},
                         {"translation.min_frequency", "translation"},
                         {"translation.longest", "translation"},
                         {"translation.beam", "translation"},
                         {"translation.length_penalty", "translation"}};

// A file from elsewhere cannot ask for all memory.
constexpr int64_t kLargestImage = 16384;
constexpr double kMostPixels = 1e9;

bool concerns(const Key& key, const config::RunConfig& config, const Task& task) {
  if (key.of.empty()) return true;
  if (key.of == "images") return task.kind() != models::TaskKind::kTranslation;
  if (key.of == "synthetic") return config.data.name.starts_with("synthetic");
  return key.of == models::task_name(task.kind());
}

bool known_data(const std::string& name) {
  const auto& all = data::registry();
  return std::any_of(all.begin(), all.end(), [&](const auto& entry) { return entry.name == name; });
}

}  // namespace

Metadata settings_metadata(const config::RunConfig& config, const Task& task) {
  config::RunConfig copy = config;
  if (copy.data.image_size == 0) copy.data.image_size = task.image_side(config);
  core::Binding binding;
  bind(binding, copy);
  Metadata out{{"task", models::task_name(task.kind())}};
  // For readers: the program knows no other way.
  if (task.kind() == models::TaskKind::kClassification) {
    out["resize"] = core::cat("images of another size: short side to image_size / ",
                              data::AugmentOptions().resize_ratio, ", then the centre");
  } else if (task.kind() == models::TaskKind::kDetection) {
    out["resize"] = "letterbox";
  }
  for (const Key& key : kKeys) {
    if (!concerns(key, config, task)) continue;
    for (const auto& field : binding.fields()) {
      if (field.key == key.name) out[field.key] = core::Binding::value_text(field);
    }
  }
  return out;
}

void read_settings(const Metadata& metadata, const std::string& file, config::RunConfig& config) {
  core::Binding binding;
  bind(binding, config);
  const std::string data_before = config.data.name;
  for (const Key& key : kKeys) {
    const auto found = metadata.find(std::string(key.name));
    if (found == metadata.end()) continue;
    try {
      binding.set(found->first, found->second, found->first);
    } catch (const UsageError& error) {
      throw DataError(core::cat(file, ": its metadata: ", error.what()));
    }
  }
  // Data of a program of the user's own: the command line must name some that this one knows.
  if (!known_data(config.data.name)) config.data.name = data_before;
  const auto& data = config.data;
  for (const int64_t side : {data.image_size, data.synthetic_size}) {
    if (side <= kLargestImage) continue;
    throw DataError(core::cat(file, ": its metadata: images of ", side, "x", side,
                              ", expected a side of at most ", kLargestImage));
  }
  const double images =
      static_cast<double>(data.synthetic_train) + static_cast<double>(data.synthetic_test);
  const auto side = static_cast<double>(data.synthetic_size);
  if (images * side * side > kMostPixels) {
    throw DataError(core::cat(file, ": its metadata: ", images, " generated images of ", side, "x",
                              side, ", expected at most ", kMostPixels, " pixels in all"));
  }
}

Metadata metadata_of(const std::string& file) {
  return io::SafeTensors::read(file).metadata();
}

void compare_image_sizes(const Metadata& metadata, const std::string& file,
                         const config::RunConfig& config, const Task& task) {
  config::RunConfig said;
  read_settings(metadata, file, said);
  const int64_t theirs = said.data.image_size;
  const int64_t ours =
      config.data.image_size > 0 ? config.data.image_size : task.image_side(config);
  if (theirs == 0 || ours == 0 || theirs == ours) return;
  core::log_info(core::cat(file, ": trained on images of ", theirs, "x", theirs, ", used on ", ours,
                           "x", ours, " (--set data.image_size=", theirs, " for theirs)"));
}

void read_normalisation(config::RunConfig& config) {
  if (config.weights.empty() || (!config.data.mean.empty() && !config.data.std.empty())) return;
  config::RunConfig said;
  read_settings(metadata_of(config.weights), config.weights, said);
  if (config.data.mean.empty()) config.data.mean = said.data.mean;
  if (config.data.std.empty()) config.data.std = said.data.std;
}

}  // namespace adagp::task
