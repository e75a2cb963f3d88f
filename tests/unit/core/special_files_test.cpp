#include "adagp/base/core/special_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/folder_handle.h"
#include "adagp/base/core/interrupt.h"
#include "unit/temp_folder.h"

namespace adagp::core {
namespace {

using testing::TempFolder;

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string complaint_about(const fs::path& path) {
  try {
    read_regular_file(path);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(SpecialFiles, AreRefusedWhereAFileOfOursIsExpected) {
  const TempFolder temp;
  ASSERT_EQ(mkfifo((temp / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", temp / "link");
  fs::create_directory(temp / "folder");
  for (const char* name : {"pipe", "link"}) {
    EXPECT_EQ(complaint_about(temp / name),
              (temp / name).string() + ": is a pipe, expected a file");
  }
  EXPECT_NE(complaint_about(temp / "folder").find("is a folder"), std::string::npos);
  EXPECT_NE(complaint_about(temp / "absent").find("No such file"), std::string::npos);
  EXPECT_NE(complaint_about("/dev/null").find("is a device"), std::string::npos);
  write_file(temp / "file", "x");
  fs::create_symlink("file", temp / "good");
  EXPECT_EQ(read_regular_file(temp / "good"), "x");
}

TEST(SpecialFiles, ASignalEndsTheWaitForAPipe) {
  const TempFolder temp;
  ASSERT_EQ(mkfifo((temp / "pipe").c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    catch_signals();
    int code = 1;
    try {
      const FileLock ready(temp / "ready", "ready");
      read_file(temp / "pipe");
    } catch (const Interrupted& error) {
      code = error.exit_code();
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  while (!fs::exists(temp / "ready")) {
    ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "the child ended early";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGTERM);
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST(SpecialFiles, PipesAndDevicesAreWrittenThroughAndStay) {
  const TempFolder temp;
  ASSERT_EQ(mkfifo((temp / "pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(temp / "pipe"); });
  write_file(temp / "pipe", "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(temp / "pipe"));
  EXPECT_EQ(entries(temp.path()), 1u);

  write_output("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  try {
    write_output("/dev/full", "x");
    FAIL() << "/dev/full took a byte";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/dev/full: writing failed: No space left on device");
  }
}

TEST(SpecialFiles, AnOpenDescriptorIsWrittenThrough) {
  const TempFolder temp;
  write_file(temp / "out", "");
  const int out = open((temp / "out").c_str(), O_RDWR);
  const std::string name = "/proc/self/fd/" + std::to_string(out);
  fs::create_symlink(name, temp / "stdout");  // as /dev/stdout
  write_output(temp / "stdout", "text");
  char bytes[5] = {};
  EXPECT_EQ(pread(out, bytes, 4, 0), 4) << "the file behind the descriptor was replaced";
  EXPECT_STREQ(bytes, "text");
  EXPECT_TRUE(fs::is_symlink(temp / "stdout"));
  close(out);
}

TEST(SpecialFiles, LinksTheUserNamedAreFollowedAndStay) {
  const TempFolder temp;
  fs::create_directory(temp / "far");
  write_file(temp / "far" / "file", "old");
  fs::create_symlink("far/file", temp / "near");
  fs::create_symlink("near", temp / "link");
  write_output(temp / "link", "new");
  EXPECT_TRUE(fs::is_symlink(temp / "link") && fs::is_symlink(temp / "near"));
  EXPECT_EQ(read_file(temp / "far" / "file"), "new");
  fs::create_symlink("far/fresh", temp / "dangling");
  write_output(temp / "dangling", "made");
  EXPECT_EQ(read_file(temp / "far" / "fresh"), "made");
  fs::create_symlink("loop", temp / "loop");
  write_output(temp / "loop", "x");  // leads nowhere: replaced
  EXPECT_EQ(read_file(temp / "loop"), "x");
}

// What a link in a folder of ours leads to is not ours.
TEST(SpecialFiles, OtherLinksAreReplaced) {
  const TempFolder temp;
  write_file(temp / "precious", "kept");
  fs::create_symlink("precious", temp / "x");
  write_file(temp / "x", "new");
  EXPECT_FALSE(fs::is_symlink(temp / "x"));
  EXPECT_EQ(read_file(temp / "precious"), "kept");
}

TEST(TemporaryFiles, TheUsersOwnAreNeitherOverwrittenNorFollowed) {
  const TempFolder temp;
  write_file(temp / "precious", "kept");
  write_file(temp / "x.tmp", "my own");
  fs::create_symlink("precious", temp / "y.tmp");
  write_file(temp / "x", "new");
  write_file(temp / "y", "new");
  EXPECT_EQ(read_file(temp / "x.tmp"), "my own");
  EXPECT_TRUE(fs::is_symlink(temp / "y.tmp"));
  EXPECT_EQ(read_file(temp / "precious"), "kept");
}

TEST(TemporaryFiles, TwoWritersOfOneFileDoNotMeet) {
  const TempFolder temp;
  AtomicFile first(temp / "x"), second(temp / "x");
  first.write(std::string(1000, 'a'));
  second.write("b");
  first.commit();
  EXPECT_EQ(read_file(temp / "x"), std::string(1000, 'a'));
  second.commit();
  EXPECT_EQ(read_file(temp / "x"), "b");
  EXPECT_EQ(entries(temp.path()), 1u);
}

TEST(TemporaryFiles, LongNamesAndPrivateFilesStayAsTheyAre) {
  const TempFolder temp;
  const fs::path file = temp / std::string(255, 'n');
  write_file(file, "secret");
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  write_file(file, "secret too");
  struct stat status {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(TemporaryFiles, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
  const TempFolder temp;
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(temp / "x");
    file.write("half");
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(entries(temp.path()), 1u);
  for (const char* name : {"x.tmp", "x.12345678", "x.1234567z.tmp", "y.12345678.tmp", "x"}) {
    write_file(temp / name, "kept");
  }
  remove_temporaries(temp.path(), "x");
  EXPECT_EQ(entries(temp.path()), 5u);
  for (const char* name : {"x.tmp", "x.12345678", "x.1234567z.tmp", "y.12345678.tmp", "x"}) {
    EXPECT_TRUE(fs::exists(temp / name)) << name;
  }
}

TEST(FolderHandle, FollowsAFolderThatIsMoved) {
  const TempFolder temp;
  fs::create_directory(temp / "old");
  const FolderHandle handle(temp / "old");
  EXPECT_FALSE(handle.moved());
  EXPECT_EQ(handle.path(), temp / "old");
  fs::rename(temp / "old", temp / "new");
  EXPECT_TRUE(handle.moved());
  EXPECT_EQ(handle.path(), fs::canonical(temp / "new"));
  fs::create_directory(temp / "old");  // another one
  EXPECT_TRUE(handle.moved());
  EXPECT_EQ(handle.path(), fs::canonical(temp / "new"));
  fs::remove(temp / "new");
  EXPECT_THROW(handle.path(), Error);
  EXPECT_THROW(FolderHandle(temp / "new"), Error);
}

}  // namespace
}  // namespace adagp::core
