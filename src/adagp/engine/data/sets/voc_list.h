#pragma once
// The pictures of one half of a Pascal VOC folder with their checked boxes. No torch here.

#include <map>
#include <string>
#include <vector>

#include "adagp/base/core/box.h"
#include "adagp/base/core/files.h"
#include "adagp/engine/data/sets/voc_annotation.h"

namespace adagp::data {

struct VocPicture {
  core::fs::path image;
  std::vector<core::LabelledBox> objects;
};

// What was left out, for one warning in the end.
struct BadBoxes {
  bool refuse = false;                   // throw DataError at the first instead
  std::map<std::string, int64_t> count;  // by kind: "inverted", "unknown class", ...
  std::string first;

  void note(const std::string& kind, const std::string& message);
  // "3 boxes ...: 2 inverted, 1 unknown class; the first: ..."; empty when nothing was wrong.
  std::string summary() const;
};

// The objects that can be right, in pixels from 0 on, cut off at the image's borders.
std::vector<core::LabelledBox> checked_objects(const VocAnnotation& annotation,
                                               const std::vector<std::string>& classes,
                                               const std::string& path, BadBoxes& bad);

// The folder with the VOC<year> folders. Throws DataError when there is none.
core::fs::path find_devkit(const std::string& dir);
// "2007/trainval" -> VOC2007/ImageSets/Main/trainval.txt; throws UsageError for another form.
core::fs::path set_file(const core::fs::path& devkit, const std::string& set);

// The pictures of these sets in their order, at most `limit` of them (0 = all) spread evenly.
// Throws DataError for a missing file.
std::vector<VocPicture> list_voc(const core::fs::path& devkit, const std::vector<std::string>& sets,
                                 const std::vector<std::string>& classes, int64_t limit,
                                 BadBoxes& bad);

}  // namespace adagp::data
