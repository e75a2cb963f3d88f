// Pascal VOC folders: written and read back, read by torchvision, and with every kind of mistake.

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/image/image.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/data/sets/voc.h"
#include "adagp/engine/data/sets/voc_list.h"
#include "unit/data/helpers.h"
#include "unit/python.h"

namespace adagp::data {
namespace {

using testing::expect_part;
using testing::message_of;
using testing::TempFolder;

class Voc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!have_xml() || !io::have_jpeg()) GTEST_SKIP() << "built without pugixml or TurboJPEG";
    Config config;
    config.name = "synthetic-detection";
    config.image_size = 64;
    config.synthetic_train = 6;
    config.synthetic_test = 3;
    drawn_ = open_detection(config);
    write_voc(drawn_, folder_.path().string());
    config_.name = "voc";
    config_.dir = folder_.path().string();
  }

  std::filesystem::path year() const { return folder_ / "VOCdevkit/VOC2007"; }
  // An annotation of the first picture with these objects.
  void annotate(const std::vector<VocObject>& objects) const {
    core::write_file(year() / "Annotations/000001.xml", to_xml({"000001.jpg", 64, 64, objects}));
  }

  TempFolder folder_;
  DetectionSplits drawn_;
  Config config_;
};

TEST_F(Voc, WrittenFolderReadsBackWithTheSameBoxes) {
  const auto read = open_detection(config_);
  EXPECT_EQ(read.classes, drawn_.classes);
  EXPECT_EQ(read.size, 416);
  const std::pair<const DetectionSet*, const DetectionSet*> halves[] = {
      {read.train.get(), drawn_.train.get()}, {read.test.get(), drawn_.test.get()}};
  for (const auto& [mine, theirs] : halves) {
    ASSERT_EQ(mine->size(), theirs->size());
    for (int64_t i = 0; i < mine->size(); ++i) {
      EXPECT_EQ(mine->objects(i), theirs->objects(i)) << i;
      const at::Tensor difference =
          (mine->image(i).to(at::kFloat) - theirs->image(i).to(at::kFloat)).abs();
      // JPEG of quality 95 on noise: a few grey levels.
      EXPECT_LT(difference.mean().item<float>(), 6.0F) << i;
    }
  }
}

TEST_F(Voc, TorchvisionReadsTheSameBoxes) {
  const auto read = nlohmann::json::parse(
      adagp::testing::run_python("tests/unit/data/python/read_voc.py", folder_.path().string()));
  ASSERT_EQ(read.size(), 6U);
  for (size_t i = 0; i < read.size(); ++i) {
    const auto& objects = drawn_.train->objects(static_cast<int64_t>(i));
    ASSERT_EQ(read[i]["objects"].size(), objects.size());
    EXPECT_EQ(read[i]["size"], (std::vector<int64_t>{64, 64}));
    for (size_t k = 0; k < objects.size(); ++k) {
      const auto& o = read[i]["objects"][k];
      EXPECT_EQ(o["name"], drawn_.classes[static_cast<size_t>(objects[k].label)]);
      // Pixel numbers from 1 on, the last one included.
      EXPECT_EQ(o["box"][0].get<double>() - 1, objects[k].box.left);
      EXPECT_EQ(o["box"][1].get<double>() - 1, objects[k].box.top);
      EXPECT_EQ(o["box"][2].get<double>(), objects[k].box.right);
      EXPECT_EQ(o["box"][3].get<double>(), objects[k].box.bottom);
    }
  }
}

TEST_F(Voc, LimitsAndSetsByName) {
  config_.limit = 2;
  config_.voc_train = {"2007/test", "2007/trainval"};
  const auto read = open_detection(config_);
  ASSERT_EQ(read.train->size(), 2);
  EXPECT_EQ(read.train->objects(0), drawn_.test->objects(0));
  EXPECT_EQ(read.train->objects(1), drawn_.train->objects(1));  // 4 of 3 + 6
  config_.voc_train = {"trainval"};
  expect_part(message_of<UsageError>([&] { open_detection(config_); }), "expected YEAR/SET");
  config_.voc_train = {"2012/trainval"};
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "VOC2012");
}

TEST_F(Voc, DifficultObjectsAreKnownAsSuch) {
  annotate({{"disc", 1, 1, 20, 20, true}, {"ring", 30, 30, 60, 60, false}});
  const auto read = open_detection(config_);
  EXPECT_EQ(read.train->objects(0), (std::vector<core::LabelledBox>{{{0, 0, 20, 20}, 0, true},
                                                                    {{29, 29, 60, 60}, 1, false}}));
}

TEST(VocObjects, EachKindOfBadBoxIsNamedCountedAndLeftOut) {
  const std::vector<std::string> classes{"cat", "dog"};
  const VocAnnotation annotation{"a.jpg",
                                 100,
                                 80,
                                 {{"dog", 5, 5, 20, 20, false},
                                  {"dgo", 5, 5, 20, 20, false},
                                  {"cat", 50, 5, 20, 30, false},
                                  {"cat", 5, 30, 20, 10, false},
                                  {"cat", 7, 5, 7, 20, false},
                                  {"cat", 120, 5, 140, 20, false},
                                  {"cat", 90, 70, 130, 120, false}}};
  BadBoxes bad;
  const auto objects = checked_objects(annotation, classes, "a.xml", bad);
  EXPECT_EQ(objects, (std::vector<core::LabelledBox>{{{4, 4, 20, 20}, 1, false},
                                                     {{89, 69, 100, 80}, 0, false}}));
  EXPECT_EQ(bad.count,
            (std::map<std::string, int64_t>{
                {"of unknown class", 1}, {"inverted", 2}, {"without area", 1}, {"outside", 1}}));
  expect_part(bad.summary(), "2 inverted");
  expect_part(bad.summary(), "a.xml: unknown class 'dgo'; did you mean 'dog'?");

  BadBoxes strict;
  strict.refuse = true;
  const std::string message =
      message_of<DataError>([&] { checked_objects(annotation, classes, "a.xml", strict); });
  expect_part(message, "unknown class 'dgo'");
  expect_part(message, "data.bad_boxes");
}

TEST_F(Voc, CoordinatesThatAreNotFiniteAreNoBoxInAnyMode) {
  const auto annotation = year() / "Annotations/000001.xml";
  for (const char* value : {"nan", "-nan", "inf", "-inf"}) {
    for (const char* key : {"xmin", "ymin", "xmax", "ymax"}) {
      std::string text = to_xml({"000001.jpg", 64, 64, {{"disc", 5, 6, 20, 22, false}}});
      const size_t at = text.find("<" + std::string(key) + ">") + 6;
      text.replace(at, text.find('<', at) - at, value);
      core::write_file(annotation, text);
      config_.bad_boxes = "skip";
      EXPECT_EQ(open_detection(config_).train->size(), 5) << value << " " << key;
      config_.bad_boxes = "refuse";
      expect_part(message_of<DataError>([&] { open_detection(config_); }), "000001.xml");
    }
  }
  BadBoxes bad;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // A size that is not said bounds nothing, but stays a number of pixels.
  const auto objects = checked_objects(
      {"a.jpg", 0, 0, {{"cat", nan, 5, 20, 20, false}, {"cat", 1, 1, 1e300, 20, false}}}, {"cat"},
      "a.xml", bad);
  EXPECT_EQ(bad.count, (std::map<std::string, int64_t>{{"not finite", 1}}));
  EXPECT_EQ(objects, (std::vector<core::LabelledBox>{{{0, 0, 65535, 20}, 0, false}}));
}

TEST_F(Voc, ByteOrderMarksAreNoPartOfNames) {
  for (const auto& file :
       {year() / "ImageSets/Main/trainval.txt", folder_ / "VOCdevkit/classes.txt"}) {
    core::write_file(file, "\xef\xbb\xbf" + core::read_file(file));
  }
  const auto read = open_detection(config_);
  EXPECT_EQ(read.classes, drawn_.classes);
  EXPECT_EQ(read.train->size(), 6);
}

TEST_F(Voc, NamesInListsStayInTheFolder) {
  core::write_file(year() / "ImageSets/Main/trainval.txt", "000001\n../../../x\n");
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "lists '../../../x'");
  core::write_file(folder_ / "VOCdevkit/classes.txt", "disc\nring\ndisc\n");
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "'disc'");
}

TEST_F(Voc, AFilledFolderIsNotWrittenInto) {
  const std::string before = core::read_file(year() / "Annotations/000001.xml");
  expect_part(message_of<UsageError>([&] { write_voc(drawn_, folder_.path().string()); }),
              "something in the folder already");
  EXPECT_EQ(core::read_file(year() / "Annotations/000001.xml"), before);
}

TEST_F(Voc, PicturesWithoutABoxAreLeftOutOrRefused) {
  annotate({});
  EXPECT_EQ(open_detection(config_).train->size(), 5);
  annotate({{"disc", 20, 20, 10, 10, false}});  // inverted, and then nothing is left
  EXPECT_EQ(open_detection(config_).train->size(), 5);
  config_.bad_boxes = "refuse";
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "000001.xml: object 'disc'");
  annotate({});
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "no box is left");
}

TEST_F(Voc, BrokenFilesAreNamed) {
  const auto annotation = year() / "Annotations/000002.xml";
  const std::string whole = core::read_file(annotation);
  core::write_file(annotation, whole.substr(0, whole.size() / 2));
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "000002.xml: not XML");
  core::write_file(annotation, "<html></html>");
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "no <annotation>");
  core::write_file(annotation,
                   "<annotation><object><name>disc</name><bndbox><xmin>x</xmin></bndbox></object>"
                   "</annotation>");
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "<xmin> is 'x'");
  core::write_file(annotation, whole);
  std::filesystem::remove(year() / "JPEGImages/000002.jpg");
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "000002.jpg: no such file");
  std::filesystem::remove(annotation);
  expect_part(message_of<DataError>([&] { open_detection(config_); }), "000002.xml");
}

TEST(VocFolder, WithoutAYearIsRefused) {
  const TempFolder empty;
  Config config;
  config.name = "voc";
  config.dir = empty.path().string();
  expect_part(message_of<DataError>([&] { open_detection(config); }),
              "neither VOC2007 nor VOC2012");
  config.dir = "";
  expect_part(message_of<UsageError>([&] { open_detection(config); }), "--data-dir");
}

}  // namespace
}  // namespace adagp::data
