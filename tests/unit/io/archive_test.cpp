#include "adagp/base/io/archive.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "adagp/base/core/error.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::io {
namespace {

using testing::TempFolder;

using Members = std::map<std::string, std::string>;

Members members_of(const core::fs::path& path,
                   const std::function<bool(const std::string&)>& wanted = {}) {
  Members out;
  for_each_member(
      path, [&](const std::string& name, std::string bytes) { out[name] = bytes; }, wanted);
  return out;
}

std::string refusal_of(const core::fs::path& path) {
  try {
    members_of(path);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

// What make_archives.py puts into `archive`.
Members expected_members(const std::string& archive) {
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1103515245 + 12345;
    noise.push_back(static_cast<char>(state >> 16));
  }
  Members members{{"folder/empty.txt", ""},
                  {"folder/small.txt", "small"},
                  {"noise.bin", noise},
                  {"last.txt", "the last one"}};
  if (archive != "a.zip") {
    members["link"] = members["last.txt"];
    members["hard"] = members["folder/chain"] = members["folder/small.txt"];
  }
  return members;
}

// The path of a tar file with one file, 1 MiB of zeros, and `links` hard links to `target`.
core::fs::path make_links(const TempFolder& temp, int links, const std::string& target) {
  const core::fs::path path = temp / "links.tar";
  const std::string code =
      "import io, sys, tarfile\n"
      "path, links, target = sys.argv[1:]\n"
      "with tarfile.open(path, 'w') as out:\n"
      "    item = tarfile.TarInfo('pool/one')\n"
      "    item.size = 1 << 20\n"
      "    out.addfile(item, io.BytesIO(bytes(1 << 20)))\n"
      "    for i in range(int(links)):\n"
      "        item = tarfile.TarInfo(f'link-{i}')\n"
      "        item.type, item.linkname = tarfile.LNKTYPE, target\n"
      "        out.addfile(item)\n";
  core::write_file(temp / "make_links.py", code);
  const std::string command = std::string(ADAGP_PYTHON) + " " + (temp / "make_links.py").string() +
                              " " + path.string() + " " + std::to_string(links) + " " + target;
  EXPECT_EQ(std::system(command.c_str()), 0);
  return path;
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
    EXPECT_EQ(members_of(temp_ / name), expected_members(name)) << name;
  }
}

TEST_F(Archive, LinksAreFollowedToMembersThatNobodyWanted) {
  const auto wanted = [](const std::string& name) { return name == "folder/chain"; };
  EXPECT_EQ(members_of(temp_ / "a.tar.gz", wanted), (Members{{"folder/chain", "small"}}));
  const auto nowhere = make_links(temp_, 1, "pool/two");
  EXPECT_NE(refusal_of(nowhere).find("'link-0' is a link to 'pool/two'"), std::string::npos)
      << refusal_of(nowhere);
  const auto circle = make_links(temp_, 2, "link-1");
  EXPECT_NE(refusal_of(circle).find("is no file of the archive"), std::string::npos);
}

// Each link brings the same MiB again: 1.3 MiB of file, 300 MiB of content.
TEST_F(Archive, MoreContentThanTheFilesSizeAllowsIsRefused) {
  EXPECT_EQ(members_of(make_links(temp_, 10, "pool/one")).size(), 11U);
  const auto bomb = make_links(temp_, 310, "pool/one");
  ASSERT_LT(unpacked_limit(core::fs::file_size(bomb)), 300U << 20);
  int visited = 0;
  const auto visit = [&](const std::string&, const std::string&) { ++visited; };
  EXPECT_THROW(for_each_member(bomb, visit), DataError);
  EXPECT_LT(visited, 300);
  EXPECT_NE(refusal_of(bomb).find("unpacks to more than"), std::string::npos) << refusal_of(bomb);
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
        EXPECT_EQ(members_of(cut), expected_members(name)) << name << " cut to " << length;
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
