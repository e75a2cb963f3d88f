#include "adagp/io/archive.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "adagp/core/error.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::io {
namespace {

using testing::TempFolder;

std::map<std::string, std::string> members_of(const core::fs::path& path) {
  std::map<std::string, std::string> out;
  for_each_member(path, [&](const std::string& name, std::string bytes) { out[name] = bytes; });
  return out;
}

// What make_archives.py puts into each of them.
std::map<std::string, std::string> expected_members() {
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1103515245 + 12345;
    noise.push_back(static_cast<char>(state >> 16));
  }
  return {{"folder/empty.txt", ""},
          {"folder/small.txt", "small"},
          {"noise.bin", noise},
          {"last.txt", "the last one"}};
}

class Archive : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!have_archive()) GTEST_SKIP() << "built without libarchive";
    testing::run_python("tests/unit/io/python/make_archives.py", temp_.path().string());
  }
  TempFolder temp_;
};

TEST(ArchiveName, IsRecognisedByItsEnding) {
  for (const char* name : {"a.tar", "a.tar.gz", "a.TGZ", "cifar10-jpeg.tar.xz", "a.zip"}) {
    EXPECT_TRUE(is_archive_name(name)) << name;
  }
  for (const char* name : {"tar", "a.gz", "a.tar.txt", ""}) EXPECT_FALSE(is_archive_name(name));
}

TEST_F(Archive, DeliversEveryRegularFileOfEveryKind) {
  for (const char* name : {"a.tar", "a.tar.gz", "a.tar.xz", "a.tar.bz2", "a.zip"}) {
    EXPECT_EQ(members_of(temp_ / name), expected_members()) << name;
  }
}

TEST_F(Archive, CutOffAnywhereLosesNothingInSilence) {
  for (const char* name : {"a.tar", "a.tar.gz", "a.tar.xz", "a.zip"}) {
    const std::string whole = core::read_file(temp_ / name);
    const core::fs::path cut = temp_ / (std::string("cut-") + name);
    std::set<size_t> lengths{0, 1, 511};
    for (size_t length = 0; length < whole.size(); length += 512) lengths.insert(length);
    for (size_t length = 0; length < whole.size(); length += 997) lengths.insert(length);
    int thrown = 0;
    for (const size_t length : lengths) {
      core::write_file(cut, whole.substr(0, length));
      try {
        EXPECT_EQ(members_of(cut), expected_members()) << name << " cut to " << length;
      } catch (const DataError& error) {
        ++thrown;
        EXPECT_EQ(std::string(error.what()).rfind(cut.string(), 0), 0u) << error.what();
      }
    }
    // Only the padding after a tar's end mark may be missing.
    EXPECT_GE(thrown, static_cast<int>(lengths.size() * 2 / 3)) << name;
  }
}

TEST_F(Archive, OtherFilesAreNoArchives) {
  core::write_file(temp_ / "x.tar.gz", "this is plain text, not an archive at all");
  EXPECT_THROW(members_of(temp_ / "x.tar.gz"), DataError);
  EXPECT_THROW(members_of(temp_ / "absent.tar"), DataError);
}

TEST_F(Archive, VisitorsErrorsPassThrough) {
  const auto visit = [](const std::string& name, const std::string&) {
    throw UsageError("stop at " + name);
  };
  EXPECT_THROW(for_each_member(temp_ / "a.tar", visit), UsageError);
}

}  // namespace
}  // namespace adagp::io
