#include "adagp/engine/data/sets/voc_list.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/class_names.h"
#include "adagp/engine/data/sets/registry.h"

namespace adagp::data {
namespace {

namespace fs = core::fs;

struct VocId {
  fs::path year;  // VOC2007
  std::string name;
};

std::vector<VocId> ids_of(const fs::path& devkit, const std::vector<std::string>& sets) {
  std::vector<VocId> ids;
  for (const std::string& set : sets) {
    const fs::path file = set_file(devkit, set);
    const fs::path year = file.parent_path().parent_path().parent_path();
    const std::string text = core::read_regular_file(file);
    for (const std::string& line : core::split(core::without_byte_order_mark(text), '\n')) {
      // Lists of one class have "000012 -1": the number is not ours to read.
      const std::string name = core::trim(core::split(core::trim(line), ' ').front());
      if (name.empty()) continue;
      if (!is_plain_file_name(name)) {
        throw DataError(file.string() + ": lists '" + name +
                        "', expected the name of a picture of this folder");
      }
      ids.push_back({year, name});
    }
  }
  return ids;
}

fs::path image_of(const VocId& id, const VocAnnotation& annotation) {
  const fs::path folder = id.year / "JPEGImages";
  std::vector<std::string> names{id.name + ".jpg", id.name + ".png"};
  if (!annotation.filename.empty()) names.insert(names.begin(), annotation.filename);
  for (const std::string& name : names) {
    // A file name only: an annotation must not lead out of the folder.
    if (is_plain_file_name(name) && fs::exists(folder / name)) return folder / name;
  }
  throw DataError(core::cat((folder / names.front()).string(),
                            ": no such file, but the set lists its picture; complete the folder or "
                            "choose other sets by data.voc_train and data.voc_test"));
}

}  // namespace

fs::path find_devkit(const std::string& dir) {
  for (const fs::path& folder : {fs::path(dir), fs::path(dir) / "VOCdevkit"}) {
    if (fs::exists(folder / "VOC2007") || fs::exists(folder / "VOC2012")) return folder;
  }
  throw DataError("data: voc: " + dir +
                  (fs::exists(dir) ? ": neither VOC2007 nor VOC2012 in it or in its VOCdevkit"
                                   : ": no such folder") +
                  "; give the folder that the challenge's archives were unpacked into, or write "
                  "one: adagp data make --data synthetic-detection -o DIR" +
                  without_files("voc"));
}

fs::path set_file(const fs::path& devkit, const std::string& set) {
  const auto parts = core::split(set, '/');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty() ||
      fs::path(parts[1]).filename() != parts[1]) {
    throw UsageError("data.voc_train, data.voc_test: '" + set +
                     "', expected YEAR/SET such as \"2007/trainval\"");
  }
  return devkit / ("VOC" + parts[0]) / "ImageSets" / "Main" / (parts[1] + ".txt");
}

std::vector<VocPicture> list_voc(const fs::path& devkit, const std::vector<std::string>& sets,
                                 const std::vector<std::string>& classes, int64_t limit,
                                 BadBoxes& bad) {
  const std::vector<VocId> ids = ids_of(devkit, sets);
  const auto all = static_cast<int64_t>(ids.size());
  const int64_t wanted = limit > 0 ? std::min(limit, all) : all;
  std::vector<VocPicture> pictures;
  for (int64_t i = 0; i < wanted; ++i) {
    const VocId& id = ids[static_cast<size_t>(i * all / wanted)];
    const fs::path file = id.year / "Annotations" / (id.name + ".xml");
    const VocAnnotation annotation = parse_voc(core::read_regular_file(file), file.string());
    VocPicture picture{{}, checked_objects(annotation, classes, file.string(), bad)};
    if (picture.objects.empty()) continue;
    picture.image = image_of(id, annotation);
    pictures.push_back(std::move(picture));
  }
  if (pictures.empty()) {
    throw DataError(core::cat("data: voc: no picture in ", core::join(sets, ", "), " of ",
                              devkit.string(), ", expected at least one"));
  }
  return pictures;
}

}  // namespace adagp::data
