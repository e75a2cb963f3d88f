#include "adagp/data/dataset.h"

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/data/cifar.h"
#include "adagp/data/folder.h"
#include "adagp/data/packed.h"
#include "adagp/data/synthetic.h"

namespace adagp::data {

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
  };
  return kEntries;
}

Splits open(const Config& config) {
  std::vector<std::string> names;
  for (const auto& entry : registry()) {
    if (entry.name == config.name) {
      if (config.limit < 0 || config.test_limit < 0) {
        throw UsageError("data.limit, data.test_limit: expected 0 (all) or more");
      }
      return entry.open(config);
    }
    names.push_back(entry.name);
  }
  throw UsageError("unknown data set '" + config.name + "'" + core::suggestion(config.name, names));
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
