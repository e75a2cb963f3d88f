#include "adagp/engine/data/sets/packed.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/safetensors.h"
#include "adagp/engine/data/sets/dataset.h"
#include "adagp/engine/data/sets/splits.h"
#include "adagp/engine/io/tensors.h"

namespace adagp::data {
namespace {

namespace fs = core::fs;

constexpr int64_t kMostUnnamed = 1 << 20;  // classes that get their number as a name

[[noreturn]] void throw_packed(const io::SafeTensors& file, const std::string& what) {
  throw DataError("data: packed: " + file.file_name() + ": " + what);
}

io::SafeTensors read_member(const Config& config, const char* name) {
  const fs::path file = fs::path(config.dir) / name;
  core::require_regular_file(file);
  return io::SafeTensors::read(file);
}

bool has_entry(const io::SafeTensors& file, const std::string& name) {
  return std::any_of(file.entries().begin(), file.entries().end(),
                     [&](const auto& entry) { return entry.name == name; });
}

std::vector<std::string> read_classes(const io::SafeTensors& file) {
  const auto found = file.metadata().find("classes");
  if (found == file.metadata().end()) return {};
  const auto json = core::try_parse_json(found->second).value_or(nlohmann::json());
  const bool strings = json.is_array() && std::all_of(json.begin(), json.end(),
                                                      [](const auto& j) { return j.is_string(); });
  if (!strings) throw_packed(file, "metadata \"classes\" is not a JSON array of strings");
  return json.get<std::vector<std::string>>();
}

std::shared_ptr<const Dataset> read_half(const io::SafeTensors& file, const std::string& prefix,
                                         int64_t limit) {
  const auto& images = file.entry(prefix + "images");
  const auto& labels = file.entry(prefix + "labels");
  const bool shaped = images.shape.size() == 4 && images.shape[1] == 3 &&
                      std::find(images.shape.begin(), images.shape.end(), 0) == images.shape.end();
  if (images.dtype != "U8" || !shaped) {
    throw_packed(file,
                 core::cat(images.name, " is ", images.dtype, " ", at::IntArrayRef(images.shape),
                           ", expected U8 [N, 3, H, W] with at least one image"));
  }
  if ((labels.dtype != "I64" && labels.dtype != "I32" && labels.dtype != "U8") ||
      labels.shape != std::vector<int64_t>{images.shape[0]}) {
    throw_packed(
        file, core::cat(labels.name, " is ", labels.dtype, " ", at::IntArrayRef(labels.shape),
                        ", expected I64 [", images.shape[0], "], one for each of ", images.name));
  }
  const at::Tensor values = io::to_tensor(file, labels).to(at::kLong).contiguous();
  const auto* first = values.const_data_ptr<int64_t>();
  return resident_subset(io::to_tensor(file, images).permute({0, 2, 3, 1}).contiguous(),
                         {first, first + values.numel()}, limit);
}

// Names for labels without them, and a check of every label against the names.
void settle_classes(Splits& splits, const std::string& path) {
  int64_t highest = 0;
  for (const auto* half : {splits.train.get(), splits.test.get()}) {
    for (const int64_t label : half->labels()) {
      highest = std::max(highest, label);
      if (label < 0) throw DataError(core::cat("data: packed: ", path, ": label ", label, " < 0"));
    }
  }
  if (splits.classes.empty() && highest >= kMostUnnamed) {
    throw DataError(core::cat("data: packed: ", path, ": label ", highest, ", expected less than ",
                              kMostUnnamed, " where metadata names no classes"));
  }
  if (splits.classes.empty()) {
    for (int64_t i = 0; i <= highest; ++i) splits.classes.push_back(std::to_string(i));
  }
  if (highest >= static_cast<int64_t>(splits.classes.size())) {
    throw DataError(core::cat("data: packed: ", path, ": label ", highest, ", but metadata names ",
                              splits.classes.size(), " classes (0 to ", splits.classes.size() - 1,
                              ")"));
  }
}

}  // namespace

Splits open_packed(const Config& config) {
  const std::string expected =
      "a .safetensors file with images and labels, or a folder with train.safetensors and "
      "test.safetensors";
  if (config.dir.empty()) throw_no_dir("packed", expected);
  if (!fs::exists(config.dir)) {
    throw DataError("data: packed: " + config.dir + ": no such file or folder; expected " +
                    expected);
  }
  Splits splits;
  if (fs::is_directory(config.dir)) {
    const auto train = read_member(config, "train.safetensors");
    splits.train = read_half(train, "", config.limit);
    splits.classes = read_classes(train);
    const auto test = read_member(config, "test.safetensors");
    splits.test = read_half(test, "", config.test_limit);
  } else {
    const auto file = io::SafeTensors::read(config.dir);
    splits.train = read_half(file, "", config.limit);
    splits.classes = read_classes(file);
    const bool both = has_entry(file, "test_images");
    if (!both) {
      core::log_warning("data: packed: " + config.dir +
                        ": no test_images in it; the same images serve for training and test");
    }
    splits.test = read_half(file, both ? "test_" : "", config.test_limit);
  }
  settle_classes(splits, config.dir);
  finish(splits, config);
  return splits;
}

}  // namespace adagp::data
