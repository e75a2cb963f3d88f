#include "adagp/data/sets/dataset.h"

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/data/sets/cifar.h"
#include "adagp/data/sets/class_names.h"
#include "adagp/data/sets/folder.h"
#include "adagp/data/sets/packed.h"
#include "adagp/data/synthetic/images.h"

namespace adagp::data {

const std::vector<Entry>& registry() {
  static const std::string kImages = "classification";
  static const std::vector<Entry> kEntries{
      {"synthetic", "ten classes of shapes and textures, generated; needs no files", kImages,
       open_synthetic},
      {"cifar10", "original binary files (data_batch_1..5.bin, test_batch.bin)", kImages,
       open_cifar10},
      {"cifar100", "original binary files (train.bin, test.bin), fine labels", kImages,
       open_cifar100},
      {"image-folder", "train/CLASS/*.jpg|png and test/CLASS/..., a folder or .tar/.zip archive",
       kImages, open_folder},
      {"packed", "safetensors with u8 images [N,3,H,W] and labels, one file or train + test",
       kImages, open_packed},
      {"synthetic-detection", "shapes with boxes, generated; needs no files", "detection"},
      {"voc", "Pascal VOC: VOCdevkit/VOC2007 and VOC2012 with Annotations and JPEGImages",
       "detection"},
      {"synthetic-translation", "a small invertible language, generated; needs no files",
       "translation"},
      {"multi30k", "Multi30k English to German, tokenised: a folder or .tar.xz archive",
       "translation"},
      {"parallel-text",
       "other texts like it: train.en, train.de, val.en, val.de, words between spaces",
       "translation"},
  };
  return kEntries;
}

const Entry& find(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& entry : registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UsageError("unknown data set '" + name + "'" + core::suggestion(name, names));
}

std::string without_files(const std::string& name) {
  std::string task, made;
  for (const auto& entry : registry()) {
    if (entry.name == name) task = entry.task;
  }
  for (const auto& entry : registry()) {
    if (entry.task == task && entry.name.starts_with("synthetic")) made = entry.name;
  }
  return made.empty() ? "" : "; --data " + made + " needs no files";
}

Dataset::Partial Dataset::partial(int64_t index, const io::WantedFor&) const {
  const at::Tensor pixels = image(index).contiguous();
  const io::ImageSize whole{pixels.size(0), pixels.size(1)};
  return {pixels, {whole, 1, {0, 0, whole.height, whole.width}}};
}

Splits open(const Config& config) {
  const Entry& entry = find(config.name);
  if (!entry.open) {
    std::vector<std::string> others;
    for (const auto& other : registry()) {
      if (other.open) others.push_back(other.name);
    }
    throw UsageError("data set '" + entry.name + "' is for " + entry.task +
                     ", not for classification; those are " + core::join(others, ", "));
  }
  if (config.limit < 0 || config.test_limit < 0) {
    throw UsageError("data.limit, data.test_limit: expected 0 (all) or more");
  }
  Splits splits = entry.open(config);
  check_class_names(splits.classes, "data: " + config.name + ": " + config.dir);
  return splits;
}

ResidentDataset::ResidentDataset(at::Tensor images, std::vector<int64_t> labels)
    : images_(images.contiguous()), labels_(std::move(labels)) {
  if (images_.dim() != 4 || images_.size(3) != 3 || images_.scalar_type() != at::kByte ||
      images_.size(0) != static_cast<int64_t>(labels_.size())) {
    throw Error(core::cat("data: images ", images_.toString(), " ", images_.sizes(), " with ",
                          labels_.size(), " labels, expected u8 [N, H, W, 3] with N labels"));
  }
}

int64_t ResidentDataset::size() const {
  return images_.size(0);
}
const std::vector<int64_t>& ResidentDataset::labels() const {
  return labels_;
}
at::Tensor ResidentDataset::image(int64_t index) const {
  return images_.select(0, index);
}
at::Tensor ResidentDataset::resident() const {
  return images_;
}

}  // namespace adagp::data
