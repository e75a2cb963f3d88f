#include "adagp/engine/data/sets/write.h"

#include <cstdio>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/image/image.h"
#include "adagp/engine/data/image/augment.h"
#include "adagp/engine/data/sets/cifar.h"
#include "adagp/engine/data/sets/class_names.h"
#include "adagp/engine/data/stream/threads.h"
#include "adagp/engine/io/tensors.h"

namespace adagp::data {
namespace {

namespace fs = core::fs;

void write_pngs(const Dataset& half, const std::vector<std::string>& classes, const fs::path& dir) {
  for (const auto& name : classes) core::make_folder(dir / name);
  // Many threads: each file is synced to the disk, which is waiting more than computing.
  parallel_over(half.size(), 16, [&](int64_t i) {
    const at::Tensor pixels = half.image(i).contiguous();
    const auto* p = pixels.const_data_ptr<uint8_t>();
    char name[32];
    std::snprintf(name, sizeof name, "%05lld.png", static_cast<long long>(i));
    const auto label = static_cast<size_t>(half.labels()[static_cast<size_t>(i)]);
    io::write_png((dir / classes[label] / name).string(),
                  {pixels.size(0), pixels.size(1), {p, p + pixels.numel()}});
  });
}

// Records begin .. end-1: a label byte and three planes each.
std::string cifar_records(const Dataset& half, int64_t begin, int64_t end) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>((end - begin) * (1 + kCifarPixels)));
  for (int64_t i = begin; i < end; ++i) {
    bytes += static_cast<char>(half.labels()[static_cast<size_t>(i)]);
    const at::Tensor planes = half.image(i).permute({2, 0, 1}).contiguous();
    bytes.append(reinterpret_cast<const char*>(planes.const_data_ptr<uint8_t>()),
                 static_cast<size_t>(planes.numel()));
  }
  return bytes;
}

// u8 [N, 3, H, W] at the splits' size.
at::Tensor packed_planes(const Dataset& half, int64_t height, int64_t width) {
  const at::Tensor all = half.resident();
  if (all.defined() && all.size(1) == height && all.size(2) == width) {
    return all.permute({0, 3, 1, 2}).contiguous();
  }
  AugmentOptions options;
  options.train = false;
  options.crop = Crop::kNone;
  options.height = height;
  options.width = width;
  at::Tensor planes = at::empty({half.size(), 3, height, width}, at::kByte);
  parallel_over(half.size(), at::get_num_threads(), [&](int64_t i) {
    planes.select(0, i).copy_(augment_one(half.image(i), i, options, 0, 0).permute({2, 0, 1}));
  });
  return planes;
}

}  // namespace

void refuse_filled(const std::string& dir) {
  std::error_code error;
  const auto status = fs::status(dir, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) {
    throw UsageError("data: " + dir + ": is a file, expected a folder to write");
  }
  if (fs::is_empty(dir, error) && !error) return;
  throw UsageError("data: " + dir + ": " +
                   (error ? "cannot be read: " + error.message()
                          : "there is something in the folder already, and two data sets in one "
                            "folder would be mixed") +
                   "; choose another folder, or remove this one");
}

void write_folder(const Splits& splits, const std::string& dir) {
  check_folder_names(splits.classes, "data: --format folder");
  refuse_filled(dir);
  write_pngs(*splits.train, splits.classes, fs::path(dir) / "train");
  write_pngs(*splits.test, splits.classes, fs::path(dir) / "test");
}

void write_cifar10(const Splits& splits, const std::string& dir) {
  for (const auto* half : {splits.train.get(), splits.test.get()}) {
    const at::Tensor images = half->resident();
    if (!images.defined() || images.size(1) != kCifarSide || images.size(2) != kCifarSide ||
        splits.classes.size() > 10) {
      throw UsageError(
          core::cat("data: the cifar10 format holds 32x32 images of at most 10 classes, "
                    "got ",
                    splits.height, "x", splits.width, " of ", splits.classes.size(),
                    "; choose another --format"));
    }
  }
  constexpr int64_t kFiles = 5;
  const int64_t count = splits.train->size();
  if (count < kFiles) throw UsageError("data: the cifar10 format needs at least 5 training images");
  check_class_names(splits.classes, "data: --format cifar10");
  refuse_filled(dir);
  core::make_folder(dir);
  for (int64_t i = 0; i < kFiles; ++i) {
    core::write_file(fs::path(dir) / core::cat("data_batch_", i + 1, ".bin"),
                     cifar_records(*splits.train, i * count / kFiles, (i + 1) * count / kFiles));
  }
  core::write_file(fs::path(dir) / "test_batch.bin",
                   cifar_records(*splits.test, 0, splits.test->size()));
  core::write_file(fs::path(dir) / "batches.meta.txt", core::join(splits.classes, "\n") + "\n");
}

void write_packed(const Splits& splits, const std::string& path) {
  check_class_names(splits.classes, "data: --format packed");
  const io::TensorMap tensors{
      {"images", packed_planes(*splits.train, splits.height, splits.width)},
      {"labels", at::tensor(splits.train->labels(), at::kLong)},
      {"test_images", packed_planes(*splits.test, splits.height, splits.width)},
      {"test_labels", at::tensor(splits.test->labels(), at::kLong)},
  };
  io::save_tensors(core::behind_links(path), tensors,
                   {{"classes", nlohmann::json(splits.classes).dump()}});
}

}  // namespace adagp::data
