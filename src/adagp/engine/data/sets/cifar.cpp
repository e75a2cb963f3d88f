#include "adagp/engine/data/sets/cifar.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/class_names.h"
#include "adagp/engine/data/sets/dataset.h"
#include "adagp/engine/data/sets/splits.h"

namespace adagp::data {
namespace {

namespace fs = core::fs;

struct CifarFlavour {
  std::string name, folder, names_file;
  std::vector<std::string> train, test;
  int label_bytes;
  int64_t classes, train_records, test_records;  // per file, as published
};

CifarFlavour cifar10_flavour() {
  return {"cifar10",
          "cifar-10-batches-bin",
          "batches.meta.txt",
          {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
           "data_batch_5.bin"},
          {"test_batch.bin"},
          1,
          10,
          10000,
          10000};
}

CifarFlavour cifar100_flavour() {
  return {"cifar100",
          "cifar-100-binary",
          "fine_label_names.txt",
          {"train.bin"},
          {"test.bin"},
          2,
          100,
          50000,
          10000};
}

fs::path cifar_folder(const Config& config, const CifarFlavour& flavour) {
  if (config.dir.empty()) {
    throw_no_dir(flavour.name, "the folder of " + flavour.train.front() + " (" + flavour.folder +
                                   ", from " + flavour.name + "'s binary archive)");
  }
  const fs::path given = config.dir;
  for (const fs::path& folder : {given, given / flavour.folder}) {
    if (fs::exists(folder / flavour.train.front()) || fs::exists(folder / flavour.test.front())) {
      return folder;
    }
  }
  const bool archive = fs::is_regular_file(given);
  throw DataError("data: " + flavour.name + ": " + config.dir + ": " +
                  (archive             ? "is a file"
                   : fs::exists(given) ? "has no " + flavour.train.front()
                                       : "no such folder") +
                  "; expected " + core::join(flavour.train, ", ") + " and " + flavour.test.front() +
                  " in it or in " + flavour.folder +
                  " below it: unpack the binary version of the data set there");
}

std::vector<std::string> cifar_class_names(const fs::path& file, int64_t classes) {
  std::vector<std::string> names;
  if (fs::exists(file)) names = parse_class_names(core::read_regular_file(file));
  if (static_cast<int64_t>(names.size()) == classes) return names;
  names.clear();
  for (int64_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

// The published files have a known number of records; a set that `adagp data make` wrote has any.
bool as_published(const fs::path& folder, const CifarFlavour& flavour) {
  const auto size =
      static_cast<uintmax_t>(flavour.train_records * (flavour.label_bytes + kCifarPixels));
  return std::any_of(flavour.train.begin(), flavour.train.end(), [&](const std::string& file) {
    std::error_code none;
    const auto found = fs::file_size(folder / file, none);
    return !none && found >= size / 10 * 9;
  });
}

std::shared_ptr<const Dataset> read_cifar(const fs::path& folder, const CifarFlavour& flavour,
                                          const std::vector<std::string>& files, int64_t records,
                                          int64_t limit) {
  CifarRecords all;
  for (size_t i = 0; i < files.size(); ++i) {
    const fs::path path = folder / files[i];
    if (!fs::exists(path)) {
      throw DataError("data: " + flavour.name + ": " + path.string() + ": no such file; expected " +
                      core::join(files, ", ") + " side by side");
    }
    auto part = parse_cifar(core::read_regular_file(path), flavour.name + ": " + files[i],
                            flavour.label_bytes, records);
    all.pixels.insert(all.pixels.end(), part.pixels.begin(), part.pixels.end());
    all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
  }
  const auto count = static_cast<int64_t>(all.labels.size());
  const at::Tensor planes =
      at::from_blob(all.pixels.data(), {count, 3, kCifarSide, kCifarSide}, at::kByte);
  return resident_subset(planes.permute({0, 2, 3, 1}).contiguous(), all.labels, limit);
}

Splits open_cifar(const Config& config, const CifarFlavour& flavour) {
  const fs::path folder = cifar_folder(config, flavour);
  const bool published = as_published(folder, flavour);
  Splits splits;
  splits.train = read_cifar(folder, flavour, flavour.train, published ? flavour.train_records : 0,
                            config.limit);
  splits.test = read_cifar(folder, flavour, flavour.test, published ? flavour.test_records : 0,
                           config.test_limit);
  splits.classes = cifar_class_names(folder / flavour.names_file, flavour.classes);
  finish(splits, config, &kCifarNormalisation);
  return splits;
}

}  // namespace

Splits open_cifar10(const Config& config) {
  return open_cifar(config, cifar10_flavour());
}
Splits open_cifar100(const Config& config) {
  return open_cifar(config, cifar100_flavour());
}

}  // namespace adagp::data
