#include "adagp/engine/data/sets/registry.h"

#include "adagp/base/core/lookup.h"
#include "adagp/engine/data/sets/cifar.h"
#include "adagp/engine/data/sets/class_names.h"
#include "adagp/engine/data/sets/folder.h"
#include "adagp/engine/data/sets/packed.h"
#include "adagp/engine/data/sets/voc.h"
#include "adagp/engine/data/synthetic/detection.h"
#include "adagp/engine/data/synthetic/images.h"

namespace adagp::data {
namespace {

// How the data set of that name is opened. Throws UsageError when it is of another task.
template <typename Open>
Open opener(const std::string& name) {
  const Entry& entry = find(name);
  if (const Open* open = std::get_if<Open>(&entry.open)) return *open;
  std::vector<std::string> others;
  std::string task;
  for (const Entry& other : registry()) {
    if (!std::holds_alternative<Open>(other.open)) continue;
    others.push_back(other.name);
    task = other.task();
  }
  throw UsageError("data set '" + name + "' is for " + entry.task() + ", not for " + task +
                   "; those are " + core::join(others, ", "));
}

void check_numbers(const Config& config) {
  if (config.limit < 0 || config.test_limit < 0) {
    throw UsageError("data.limit, data.test_limit: expected 0 (all) or more");
  }
  if (!(config.synthetic_noise >= 0 && config.synthetic_noise <= kMostNoise)) {
    throw UsageError(core::cat("data.synthetic_noise: ", config.synthetic_noise,
                               ", expected 0 (clean) to ", kMostNoise));
  }
}

}  // namespace

const std::vector<Entry>& registry() {
  static const std::vector<Entry> kEntries{
      {"synthetic", "ten classes of shapes and textures, generated; needs no files",
       open_synthetic},
      {"cifar10", "original binary files (data_batch_1..5.bin, test_batch.bin)", open_cifar10},
      {"cifar100", "original binary files (train.bin, test.bin), fine labels", open_cifar100},
      {"image-folder", "train/CLASS/*.jpg|png and test/CLASS/..., a folder or .tar/.zip archive",
       open_folder},
      {"packed", "safetensors with u8 images [N,3,H,W] and labels, one file or train + test",
       open_packed},
      {"synthetic-detection", "shapes with boxes, generated; needs no files",
       open_synthetic_detection},
      {"voc", "Pascal VOC: VOCdevkit/VOC2007 and VOC2012 with Annotations and JPEGImages",
       open_voc},
      {"synthetic-translation", "a small invertible language, generated; needs no files",
       [](const Config& config, const TextOptions&) { return make_synthetic_text(config); }},
      {"multi30k", "Multi30k English to German, tokenised: a folder or .tar.xz archive",
       read_parallel},
      {"parallel-text",
       "other texts like it: train.en, train.de, val.en, val.de, words between spaces",
       read_parallel},
  };
  return kEntries;
}

std::string Entry::task() const {
  static constexpr const char* kTasks[] = {"classification", "detection", "translation"};
  return kTasks[open.index()];
}

const Entry& find(const std::string& name) {
  return core::find_named(registry(), name, "unknown data set");
}

std::string without_files(const std::string& name) {
  const std::string task = find(name).task();
  for (const Entry& entry : registry()) {
    if (entry.task() == task && entry.name.starts_with("synthetic")) {
      return "; --data " + entry.name + " needs no files";
    }
  }
  return "";
}

Splits open(const Config& config) {
  const auto open_set = opener<OpenImages>(config.name);
  check_numbers(config);
  Splits splits = open_set(config);
  check_class_names(splits.classes, "data: " + config.name + ": " + config.dir);
  return splits;
}

DetectionSplits open_detection(const Config& config) {
  const auto open_set = opener<OpenBoxes>(config.name);
  check_numbers(config);
  return open_set(config);
}

TextSplits open_text(const Config& config, const TextOptions& options) {
  return opener<OpenText>(config.name)(config, options);
}

}  // namespace adagp::data
