#include "adagp/engine/data/sets/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/io/archive.h"
#include "adagp/base/io/image/image.h"
#include "unit/data/helpers.h"

namespace adagp::data::testing {
namespace {

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!io::have_png()) GTEST_SKIP() << "built without libpng";
  }

  // A flat picture whose every value is `grey`.
  void put(const std::string& path, int grey, int64_t height = 10, int64_t width = 12) {
    const fs::path file = temp_ / path;
    fs::create_directories(file.parent_path());
    const auto bytes = static_cast<size_t>(height * width * 3);
    io::write_png(file.string(),
                  {height, width, std::vector<uint8_t>(bytes, static_cast<uint8_t>(grey))});
  }
  // Class cat: greys 10, 11, 12; class ant: 20 .. 24; one test image each.
  void put_usual(const std::string& root, const std::string& test = "test") {
    for (int i = 0; i < 3; ++i) put(root + "/train/cat/" + std::to_string(i) + ".png", 10 + i);
    for (int i = 0; i < 5; ++i) put(root + "/train/ant/" + std::to_string(i) + ".PNG", 20 + i);
    put(root + "/" + test + "/cat/x.png", 90);
    put(root + "/" + test + "/ant/x.png", 91);
  }
  Splits open_at(const std::string& name, int64_t limit = 0) {
    Config config;
    config.name = "image-folder";
    config.dir = (temp_ / name).string();
    config.limit = limit;
    return open(config);
  }
  static std::vector<int> greys(const Dataset& half) {
    std::vector<int> values;
    for (int64_t i = 0; i < half.size(); ++i) values.push_back(half.image(i)[3][4][1].item<int>());
    return values;
  }

  TempFolder temp_;
};

TEST_F(Folder, ReadsClassesInOrderOfTheirNames) {
  put_usual("set");
  put("set/train/ant/.hidden.png", 99);
  core::write_file(temp_ / "set/train/ant/notes.txt", "not an image");
  const Splits splits = open_at("set");
  EXPECT_EQ(splits.classes, (std::vector<std::string>{"ant", "cat"}));
  EXPECT_EQ(greys(*splits.train), (std::vector<int>{20, 21, 22, 23, 24, 10, 11, 12}));
  EXPECT_EQ(splits.train->labels(), (std::vector<int64_t>{0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(greys(*splits.test), (std::vector<int>{91, 90}));
  EXPECT_TRUE(splits.train->resident().defined());
  EXPECT_EQ(splits.height, 10);
  EXPECT_EQ(splits.width, 12);
}

TEST_F(Folder, AcceptsValAndALeadingFolder) {
  put_usual("set/leading", "val");
  EXPECT_EQ(open_at("set").test->size(), 2);
  put_usual("set/second", "val");
  expect_part(message_of<DataError>([&] { open_at("set"); }), "more than one data set");
}

TEST_F(Folder, ArchivesHoldTheSameDataSet) {
  if (!io::have_archive()) GTEST_SKIP() << "built without libarchive";
  put_usual("set");
  const auto expected = greys(*open_at("set").train);
  const std::string in = "cd '" + temp_.path().string() + "' && ";
  ASSERT_EQ(std::system((in + "tar cf a.tar set && tar czf a.tar.gz -C set .").c_str()), 0);
  const std::string zip =
      ADAGP_PYTHON " -c \"import shutil; shutil.make_archive('a', 'zip', 'set')\"";
  ASSERT_EQ(std::system((in + zip).c_str()), 0);
  for (const std::string name : {"a.tar", "a.tar.gz", "a.zip"}) {
    const Splits splits = open_at(name);
    EXPECT_EQ(greys(*splits.train), expected) << name;
    EXPECT_EQ(splits.classes, (std::vector<std::string>{"ant", "cat"}));
  }
  // Half of the compressed stream.
  fs::resize_file(temp_ / "a.tar.gz", fs::file_size(temp_ / "a.tar.gz") / 2);
  EXPECT_THROW(open_at("a.tar.gz"), DataError);
}

TEST_F(Folder, LinksInAnArchiveBringTheImageTheyLeadTo) {
  if (!io::have_archive()) GTEST_SKIP() << "built without libarchive";
  put_usual("set");
  put("set/pool.png", 33);
  fs::create_hard_link(temp_ / "set/pool.png", temp_ / "set/train/cat/hard.png");
  fs::create_symlink("../../pool.png", temp_ / "set/train/cat/symbolic.png");
  const std::string in = "cd '" + temp_.path().string() + "' && ";
  // The name of the pool comes first, so that the image of train/ is the link.
  ASSERT_EQ(std::system((in + "tar czf a.tar.gz set/pool.png set/train set/test").c_str()), 0);
  EXPECT_EQ(greys(*open_at("a.tar.gz").train),
            (std::vector<int>{20, 21, 22, 23, 24, 10, 11, 12, 33, 33}));
}

TEST_F(Folder, OfMembersWithOneNameTheLastCounts) {
  if (!io::have_archive()) GTEST_SKIP() << "built without libarchive";
  put_usual("set");
  const std::string in = "cd '" + temp_.path().string() + "' && ";
  ASSERT_EQ(std::system((in + "tar cf a.tar set").c_str()), 0);
  put("set/train/cat/1.png", 77);
  ASSERT_EQ(std::system((in + "tar rf a.tar ./set/train/cat/1.png").c_str()), 0);
  EXPECT_EQ(greys(*open_at("a.tar").train), (std::vector<int>{20, 21, 22, 23, 24, 10, 77, 12}));
}

TEST_F(Folder, LinksToFoldersAreFollowedButNeverInCircles) {
  put_usual("set");
  const auto expected = greys(*open_at("set").train);
  fs::create_directory_symlink("../..", temp_ / "set/train/cat/up");
  fs::create_directory_symlink(".", temp_ / "set/train/ant/here");
  fs::create_directory_symlink("..", temp_ / "set/test/round");
  fs::create_symlink("itself", temp_ / "set/train/itself");
  EXPECT_EQ(greys(*open_at("set").train), expected);
  EXPECT_EQ(open_at("set").test->size(), 2);
  // Another folder's images, once however many links lead there; a half that is a link.
  put("elsewhere/1.png", 50);
  put("elsewhere/deep/2.png", 51);
  fs::create_directory_symlink(temp_ / "elsewhere", temp_ / "set/train/cat/more");
  fs::create_directory_symlink(temp_ / "elsewhere", temp_ / "set/train/cat/again");
  fs::remove_all(temp_ / "set/test");
  fs::create_directory_symlink("train", temp_ / "set/test");
  const Splits splits = open_at("set");
  EXPECT_EQ(greys(*splits.train), (std::vector<int>{20, 21, 22, 23, 24, 10, 11, 12, 50, 51}));
  EXPECT_EQ(greys(*splits.test), greys(*splits.train));
}

// Without the rights that root has.
class AsNobody {
 public:
  AsNobody() {
    if (::geteuid() == 0) changed_ = ::seteuid(65534) == 0;
  }
  ~AsNobody() {
    if (changed_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool changed_ = false;
};

TEST_F(Folder, WhatCannotBeReadIsAnErrorThatNamesIt) {
  put_usual("set");
  put("set/train/cat/closed/1.png", 1);
  fs::create_directories(temp_ / "set/lost+found");
  const auto allow = [&](const std::string& name, fs::perms perms) {
    fs::permissions(temp_ / name, perms);
  };
  constexpr auto kOpen = fs::perms(0755), kClosed = fs::perms::none, kList = fs::perms(0444);
  fs::permissions(temp_.path(), kOpen);
  {
    const AsNobody nobody;
    if (::geteuid() == 0 ||
        ::faccessat(AT_FDCWD, (temp_ / "set/train").c_str(), R_OK | X_OK, AT_EACCESS) != 0) {
      GTEST_SKIP() << "no ordinary user can read the temporary folder here";
    }
  }
  allow("set/lost+found", kClosed);  // beside the data set
  {
    const AsNobody nobody;
    EXPECT_EQ(open_at("set").train->size(), 9);
  }
  for (const auto perms : {kClosed, kList}) {
    allow("set/train/cat/closed", perms);
    std::string message;
    {
      const AsNobody nobody;
      message = message_of<DataError>([&] { open_at("set"); });
    }
    expect_part(message, "train/cat/closed");
    expect_part(message, "cannot be read: Permission denied");
  }
  allow("set/train/cat/closed", kOpen);
  fs::create_symlink("gone.png", temp_ / "set/train/cat/link.png");
  expect_part(message_of<DataError>([&] { open_at("set"); }),
              "train/cat/link.png: a link to a file that is not there");
}

TEST_F(Folder, ALimitIsSpreadOverClassesAndDecodesNothingElse) {
  put_usual("set");
  core::write_file(temp_ / "set/train/ant/4.PNG", "broken, but not needed");
  const Splits splits = open_at("set", 4);
  EXPECT_EQ(greys(*splits.train), (std::vector<int>{20, 21, 10, 11}));
  EXPECT_EQ(greys(*open_at("set", 7).train), (std::vector<int>{20, 21, 22, 23, 10, 11, 12}));
  expect_part(message_of<DataError>([&] { open_at("set"); }), "train/ant/4.PNG");
}

TEST_F(Folder, ImagesOfSeveralSizesAreDecodedOnDemand) {
  put_usual("set");
  put("set/train/cat/wide.png", 77, 9, 30);
  const Splits splits = open_at("set");
  EXPECT_FALSE(splits.train->resident().defined());
  EXPECT_EQ(splits.train->image(8).sizes(), at::IntArrayRef({9, 30, 3}));
  EXPECT_EQ(splits.train->image(8)[0][29][2].item<int>(), 77);
  EXPECT_EQ(splits.height, 224);
  EXPECT_EQ(splits.mean[0], 0.485);
}

TEST_F(Folder, SaysWhatIsMissing) {
  expect_part(message_of<DataError>([&] { open_at("none"); }), "no such file or folder");
  fs::create_directories(temp_ / "empty");
  expect_part(message_of<DataError>([&] { open_at("empty"); }), "no images in train/CLASS/");
  put("half/train/cat/1.png", 1);
  expect_part(message_of<DataError>([&] { open_at("half"); }), "none in test/CLASS/ or val/CLASS/");
  put("half/test/dog/1.png", 1);
  expect_part(message_of<DataError>([&] { open_at("half"); }), "class 'dog'");
  core::write_file(temp_ / "file.rar", "x");
  expect_part(message_of<DataError>([&] { open_at("file.rar"); }), ".tar");
  Config config;
  config.name = "image-folder";
  expect_part(message_of<UsageError>([&] { open(config); }), "--data-dir");
}

TEST_F(Folder, ACutOffImageIsNamed) {
  put_usual("set");
  const fs::path file = temp_ / "set/train/cat/1.png";
  const auto whole = fs::file_size(file);
  for (const uintmax_t length : {uintmax_t{0}, uintmax_t{7}, uintmax_t{40}, whole - 14}) {
    put("set/train/cat/1.png", 11);
    fs::resize_file(file, length);
    expect_part(message_of<DataError>([&] { open_at("set"); }), "train/cat/1.png");
  }
}

// ADAGP_TEST_CIFAR10_JPEG names an archive of CIFAR-10 as JPEG files (train|test/CLASS/NNNN.jpg).
TEST(FolderArchive, LoadsAllOfCifar10) {
  const char* path = std::getenv("ADAGP_TEST_CIFAR10_JPEG");
  if (path == nullptr) GTEST_SKIP() << "ADAGP_TEST_CIFAR10_JPEG is not set";
  Config config;
  config.name = "image-folder";
  config.dir = path;
  const Splits splits = open(config);
  EXPECT_EQ(splits.train->size(), 50000);
  EXPECT_EQ(splits.test->size(), 10000);
  EXPECT_EQ(splits.classes.size(), 10U);
  // The published means; JPEG moves them little.
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(splits.mean[c], (std::vector{0.4914, 0.4822, 0.4465})[c], 0.002);
    EXPECT_NEAR(splits.std[c], (std::vector{0.2470, 0.2435, 0.2616})[c], 0.004);
  }
}

}  // namespace
}  // namespace adagp::data::testing
