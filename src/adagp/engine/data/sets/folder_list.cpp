#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/archive.h"
#include "adagp/base/io/image/image.h"
#include "adagp/engine/data/sets/folder.h"
#include "adagp/engine/data/sets/folder_walk.h"

namespace adagp::data {
namespace {

namespace fs = core::fs;

constexpr const char* kLayout =
    "expected train/CLASS/NAME.jpg and test/CLASS/NAME.jpg (or .jpeg, .png; val for test)";

// "leading/train/cat/1.jpg" taken apart.
struct Placed {
  std::string leading, split, class_name;
};

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (auto& part : core::split(path, '/')) {
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
  }
  return parts;
}

bool is_split(const std::string& name) {
  return name == "train" || name == "test" || name == "val";
}

std::optional<Placed> place(const std::string& path) {
  const auto parts = parts_of(path);
  if (parts.empty() || parts.back().starts_with(".") || !io::is_image_name(parts.back())) {
    return std::nullopt;
  }
  std::string leading;
  for (size_t i = 0; i + 2 < parts.size(); ++i) {
    if (parts[i] == "__MACOSX") return std::nullopt;  // resource forks, no images
    if (is_split(parts[i])) return Placed{leading, parts[i], parts[i + 1]};
    leading += parts[i] + "/";
  }
  return std::nullopt;
}

// "train/cat" for "leading/train/cat/more"; as much of it as there is.
std::string half_and_class(const std::string& path) {
  const auto parts = parts_of(path);
  const auto split = std::find_if(parts.begin(), parts.end(), is_split);
  if (split == parts.end()) return "";
  return split + 1 == parts.end() ? *split : *split + "/" + *(split + 1);
}

struct Found {
  Placed placed;
  ImageFile file;
};

std::vector<Found> find_in_archive(const fs::path& archive) {
  std::map<std::string, Found> found;  // of members with one name the last counts, as in unpacking
  io::for_each_member(
      archive,
      [&](const std::string& name, std::string bytes) {
        const std::string path = core::join(parts_of(name), "/");
        found[path] = {*place(path), {archive.filename().string() + ":" + path, std::move(bytes)}};
      },
      [](const std::string& name) { return place(name).has_value(); });
  std::vector<Found> out;
  for (auto& [name, one] : found) out.push_back(std::move(one));
  return out;
}

std::vector<Found> find_in_folder(const fs::path& folder) {
  std::vector<Found> found;
  walk_folder(folder, {half_and_class,
                       [](const std::string& relative) { return place(relative).has_value(); },
                       [&](const fs::path& file, const std::string& relative) {
                         found.push_back({*place(relative), {file.string(), ""}});
                       }});
  return found;
}

std::vector<ImageFile> half(std::vector<Found>& found, const std::string& split,
                            const std::map<std::string, int64_t>& labels,
                            const std::string& where) {
  std::vector<ImageFile> files;
  for (auto& [placed, file] : found) {
    if (placed.split != split) continue;
    const auto label = labels.find(placed.class_name);
    if (label == labels.end()) {
      throw DataError(where + "class '" + placed.class_name + "' of " + split +
                      "/ has no images in train/ (" + file.path +
                      "); both need the same class folders");
    }
    file.label = label->second;
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const ImageFile& a, const ImageFile& b) {
    return std::tie(a.label, a.path) < std::tie(b.label, b.path);
  });
  return files;
}

}  // namespace

FolderListing list_images(const std::string& dir) {
  const std::string where = "data: image-folder: " + dir + ": ";
  if (!fs::exists(dir)) throw DataError(where + "no such file or folder; " + kLayout);
  const bool folder = fs::is_directory(dir);
  if (!folder && !io::is_archive_name(dir)) {
    throw DataError(where + "not a folder and not named .tar, .tar.gz, .tar.xz or .zip; " +
                    kLayout);
  }
  auto found = folder ? find_in_folder(dir) : find_in_archive(dir);

  std::map<std::string, int64_t> labels;
  std::set<std::string> leading, splits;
  int64_t train_images = 0;
  for (const auto& [placed, file] : found) {
    leading.insert(placed.leading);
    splits.insert(placed.split);
    if (placed.split == "train") {
      labels[placed.class_name] = 0;
      ++train_images;
    }
  }
  if (leading.size() > 1) {
    throw DataError(where + "more than one data set in it: '" + *leading.begin() + "train', '" +
                    *std::next(leading.begin()) + "train'; name one of them");
  }
  if (labels.empty()) throw DataError(where + "no images in train/CLASS/; " + kLayout);
  const std::string test = splits.contains("test") ? "test" : "val";
  if (!splits.contains(test)) {
    throw DataError(core::cat(
        where, "train/ has ", train_images, " images of ", labels.size(),
        " classes, but there are none in test/CLASS/ or val/CLASS/ beside it; ", kLayout));
  }
  FolderListing listing;
  for (auto& [name, label] : labels) {
    label = static_cast<int64_t>(listing.classes.size());
    listing.classes.push_back(name);
  }
  listing.train = half(found, "train", labels, where);
  listing.test = half(found, test, labels, where);
  return listing;
}

}  // namespace adagp::data
