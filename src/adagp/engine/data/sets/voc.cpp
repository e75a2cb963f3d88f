#include "adagp/engine/data/sets/voc.h"

#include <cstdio>
#include <cstring>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/image/image.h"
#include "adagp/engine/data/sets/class_names.h"
#include "adagp/engine/data/sets/detection.h"
#include "adagp/engine/data/sets/splits.h"
#include "adagp/engine/data/sets/voc_list.h"
#include "adagp/engine/data/sets/write.h"
#include "adagp/engine/data/stream/threads.h"

namespace adagp::data {
namespace {

namespace fs = core::fs;

constexpr int64_t kPublishedSize = 416;

class VocSet : public DetectionSet {
 public:
  explicit VocSet(std::vector<VocPicture> pictures) : pictures_(std::move(pictures)) {}

  int64_t size() const override { return static_cast<int64_t>(pictures_.size()); }
  at::Tensor image(int64_t index) const override {
    const fs::path& path = pictures_.at(static_cast<size_t>(index)).image;
    const io::Image image = io::decode_image(core::read_regular_file(path), path.string());
    at::Tensor pixels = at::empty({image.height, image.width, 3}, at::kByte);
    std::memcpy(pixels.mutable_data_ptr<uint8_t>(), image.rgb.data(), image.rgb.size());
    return pixels;
  }
  const std::vector<core::LabelledBox>& objects(int64_t index) const override {
    return pictures_.at(static_cast<size_t>(index)).objects;
  }

 private:
  std::vector<VocPicture> pictures_;
};

// The sets asked for, or those of the usual ones that are there.
std::vector<std::string> choose_sets(const fs::path& devkit, const std::vector<std::string>& asked,
                                     const std::vector<std::string>& usual, const char* key) {
  if (!asked.empty()) return asked;
  std::vector<std::string> found;
  for (const std::string& set : usual) {
    if (fs::exists(set_file(devkit, set))) found.push_back(set);
  }
  if (found.empty()) {
    throw DataError(core::cat("data: voc: ", devkit.string(), ": no set ", core::join(usual, ", "),
                              "; name one that is there with ", key));
  }
  return found;
}

std::vector<std::string> read_classes(const fs::path& devkit) {
  const fs::path file = devkit / "classes.txt";
  if (!fs::exists(file)) return voc_classes();
  std::vector<std::string> classes = parse_class_names(core::read_regular_file(file));
  if (classes.empty()) throw DataError(file.string() + ": empty, expected one class a line");
  check_class_names(classes, file.string());
  return classes;
}

void write_half(const DetectionSet& half, const std::vector<std::string>& classes,
                const fs::path& folder, const std::string& set, int64_t first_number) {
  std::string list;
  for (int64_t i = 0; i < half.size(); ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "%06lld", static_cast<long long>(first_number + i));
    list += name + std::string("\n");
  }
  core::write_file(folder / "ImageSets" / "Main" / (set + ".txt"), list);
  const auto names = core::split(list, '\n');
  // Many threads: each file is synced to the disk, which is waiting more than computing.
  parallel_over(half.size(), 16, [&](int64_t i) {
    const std::string& name = names[static_cast<size_t>(i)];
    const at::Tensor pixels = half.image(i).contiguous();
    const auto* p = pixels.const_data_ptr<uint8_t>();
    const io::Image image{pixels.size(0), pixels.size(1), {p, p + pixels.numel()}};
    VocAnnotation annotation;
    annotation.filename = name + (io::have_jpeg() ? ".jpg" : ".png");
    annotation.width = image.width;
    annotation.height = image.height;
    for (const auto& object : half.objects(i)) {
      const auto& b = object.box;
      annotation.objects.push_back({classes.at(static_cast<size_t>(object.label)), b.left + 1,
                                    b.top + 1, b.right, b.bottom, object.difficult});
    }
    const std::string path = (folder / "JPEGImages" / annotation.filename).string();
    io::have_jpeg() ? io::write_jpeg(path, image) : io::write_png(path, image);
    core::write_file(folder / "Annotations" / (name + ".xml"), to_xml(annotation));
  });
}

}  // namespace

const std::vector<std::string>& voc_classes() {
  static const std::vector<std::string> kNames{
      "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",      "car",
      "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",    "motorbike",
      "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};
  return kNames;
}

DetectionSplits open_voc(const Config& config) {
  if (config.dir.empty()) {
    throw_no_dir("voc", "the folder VOCdevkit with VOC2007, VOC2012 or both");
  }
  const fs::path devkit = find_devkit(config.dir);
  const auto train =
      choose_sets(devkit, config.voc_train, {"2007/trainval", "2012/trainval"}, "data.voc_train");
  const auto test = choose_sets(devkit, config.voc_test, {"2007/test"}, "data.voc_test");
  DetectionSplits splits;
  splits.classes = read_classes(devkit);
  BadBoxes bad;
  bad.refuse = config.bad_boxes == "refuse";
  splits.train =
      std::make_shared<VocSet>(list_voc(devkit, train, splits.classes, config.limit, bad));
  splits.test =
      std::make_shared<VocSet>(list_voc(devkit, test, splits.classes, config.test_limit, bad));
  if (const std::string left_out = bad.summary(); !left_out.empty()) core::log_warning(left_out);
  core::log_info(core::cat("data: voc: training on ", core::join(train, ", "), " (",
                           splits.train->size(), " pictures), testing on ", core::join(test, ", "),
                           " (", splits.test->size(), ")"));
  const Normalisation norm = choose_normalisation(config, kImagenetNormalisation);
  splits.mean = norm.mean;
  splits.std = norm.std;
  splits.size = config.image_size > 0 ? config.image_size : kPublishedSize;
  return splits;
}

void write_voc(const DetectionSplits& splits, const std::string& dir) {
  const fs::path devkit = fs::path(dir) / "VOCdevkit", folder = devkit / "VOC2007";
  check_class_names(splits.classes, "data: voc");
  refuse_filled(dir);
  for (const char* part : {"Annotations", "JPEGImages", "ImageSets/Main"}) {
    core::make_folder(folder / part);
  }
  write_half(*splits.train, splits.classes, folder, "trainval", 1);
  write_half(*splits.test, splits.classes, folder, "test", 1 + splits.train->size());
  core::write_file(devkit / "classes.txt", core::join(splits.classes, "\n") + "\n");
}

}  // namespace adagp::data
