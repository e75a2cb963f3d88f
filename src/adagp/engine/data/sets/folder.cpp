#include "adagp/engine/data/sets/folder.h"

#include <atomic>
#include <cstring>

#include <ATen/Parallel.h>

#include "adagp/base/core/files.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/io/image/image.h"
#include "adagp/engine/data/sets/dataset.h"
#include "adagp/engine/data/sets/select.h"
#include "adagp/engine/data/sets/splits.h"
#include "adagp/engine/data/stream/threads.h"

namespace adagp::data {
namespace {

constexpr int64_t kResidentBytes = int64_t{2} << 30;

io::Image decode_file(const ImageFile& file) {
  if (!file.bytes.empty()) return io::decode_image(file.bytes, file.path);
  return io::decode_image(core::read_regular_file(file.path), file.path);
}

// Files that are decoded when asked for.
class FileDataset : public Dataset {
 public:
  explicit FileDataset(std::vector<ImageFile> files) : files_(std::move(files)) {
    for (const auto& file : files_) labels_.push_back(file.label);
  }
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  const std::vector<int64_t>& labels() const override { return labels_; }
  at::Tensor image(int64_t index) const override {
    return partial(index, [](const io::ImageSize&) { return io::Wanted{}; }).pixels;
  }
  Partial partial(int64_t index, const io::WantedFor& wanted_for) const override {
    const ImageFile& file = files_.at(static_cast<size_t>(index));
    const std::string read = file.bytes.empty() ? core::read_regular_file(file.path) : "";
    Partial out;
    out.decoded = io::decode_image(
        file.bytes.empty() ? read : file.bytes, file.path,
        [&](const io::ImageSize& size) {
          out.pixels = at::empty({size.height, size.width, 3}, at::kByte);
          return out.pixels.mutable_data_ptr<uint8_t>();
        },
        wanted_for);
    return out;
  }

 private:
  std::vector<ImageFile> files_;
  std::vector<int64_t> labels_;
};

// All files as u8 [N, H, W, 3], or undefined when their sizes differ or they are too many.
at::Tensor decode_all(const std::vector<ImageFile>& files) {
  const io::Image first = decode_file(files.front());
  const auto count = static_cast<int64_t>(files.size());
  const auto bytes = static_cast<int64_t>(first.rgb.size());
  if (bytes > kResidentBytes / count) return {};
  at::Tensor images = at::empty({count, first.height, first.width, 3}, at::kByte);
  auto* pixels = images.mutable_data_ptr<uint8_t>();
  std::atomic<bool> differ{false};
  parallel_over(count, at::get_num_threads(), [&](int64_t i) {
    if (differ) return;
    const io::Image image = decode_file(files[static_cast<size_t>(i)]);
    if (image.height != first.height || image.width != first.width) {
      differ = true;
      return;
    }
    std::memcpy(pixels + i * bytes, image.rgb.data(), image.rgb.size());
  });
  return differ ? at::Tensor() : images;
}

std::shared_ptr<const Dataset> make_dataset(std::vector<ImageFile> all, int64_t limit) {
  std::vector<int64_t> labels;
  for (const auto& file : all) labels.push_back(file.label);
  std::vector<ImageFile> files;
  for (const int64_t i : spread_over_classes(labels, limit)) {
    files.push_back(std::move(all[static_cast<size_t>(i)]));
  }
  all.clear();
  const at::Tensor images = decode_all(files);
  if (!images.defined()) return std::make_shared<FileDataset>(std::move(files));
  labels.clear();
  for (const auto& file : files) labels.push_back(file.label);
  return std::make_shared<ResidentDataset>(images, std::move(labels));
}

}  // namespace

Splits open_folder(const Config& config) {
  if (config.dir.empty()) {
    throw_no_dir("image-folder",
                 "a folder or a .tar, .tar.gz, .tar.xz or .zip file with "
                 "train/CLASS/*.jpg and test/CLASS/*.jpg");
  }
  FolderListing listing = list_images(config.dir);
  Splits splits;
  splits.train = make_dataset(std::move(listing.train), config.limit);
  splits.test = make_dataset(std::move(listing.test), config.test_limit);
  splits.classes = std::move(listing.classes);
  finish(splits, config);
  return splits;
}

}  // namespace adagp::data
