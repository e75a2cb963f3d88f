#include "adagp/base/core/files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <thread>

#include "adagp/base/core/error.h"
#include "unit/in_child.h"
#include "unit/temp_folder.h"

namespace adagp::core {
namespace {

using testing::in_child;
using testing::TempFolder;

TEST(Files, ReadBackWhatWasWritten) {
  const TempFolder temp;
  const std::string bytes("a\0b\xff\n", 5);
  write_file(temp / "x", bytes);
  EXPECT_EQ(read_file(temp / "x"), bytes);
  write_file(temp / "x", "");
  EXPECT_EQ(read_file(temp / "x"), "");
}

TEST(Files, ReadsWhatHasNoSizeBeforehand) {
  const TempFolder temp;
  ASSERT_EQ(mkfifo((temp / "pipe").c_str(), 0600), 0);
  const std::string bytes(300'000, 'p');
  std::thread writer([&] {
    std::FILE* pipe = std::fopen((temp / "pipe").c_str(), "w");
    std::fwrite(bytes.data(), 1, bytes.size(), pipe);
    std::fclose(pipe);
  });
  EXPECT_EQ(read_file(temp / "pipe"), bytes);
  writer.join();
}

TEST(Files, MissingFilesAndFoldersAreNamed) {
  const TempFolder temp;
  for (const fs::path& path : {temp / "absent", fs::path(temp.path())}) {
    try {
      read_file(path);
      FAIL();
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
    }
  }
  write_file(temp / "file", "x");
  EXPECT_THROW(make_folder(temp / "file" / "below"), Error);
  make_folder(temp / "a" / "b");
  make_folder(temp / "a" / "b");
  EXPECT_TRUE(fs::is_directory(temp / "a" / "b"));
}

TEST(AtomicFile, AppearsOnlyWithCommit) {
  const TempFolder temp;
  {
    AtomicFile file(temp / "x");
    file.write("half");
    EXPECT_FALSE(fs::exists(temp / "x"));
  }
  EXPECT_TRUE(fs::is_empty(temp.path())) << "the temporary file was left behind";
  write_file(temp / "x", "old");
  {
    AtomicFile file(temp / "x");
    file.write("new");
    EXPECT_EQ(read_file(temp / "x"), "old");
    file.commit();
  }
  EXPECT_EQ(read_file(temp / "x"), "new");
}

TEST(AtomicFile, ToBeSyncedLaterAppearsAtOnceToo) {
  const TempFolder temp;
  write_file(temp / "x", "old");
  AtomicFile file(temp / "x");
  file.write("new");
  file.commit(Sync::kLater);
  EXPECT_EQ(read_file(temp / "x"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(temp.path()), {}), 1)
      << "a temporary file is left";
}

TEST(AtomicFile, FullDiskLeavesTheOldFile) {
  const TempFolder temp;
  write_file(temp / "x", "old");
  // A limit on the file size makes write() fail halfway, as a full disk does.
  const int code = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file(temp / "x", std::string(1 << 20, 'n'));
    } catch (const Error& error) {
      const std::string what = error.what();
      return what.find("x: writing failed: File too large") != std::string::npos ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(read_file(temp / "x"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(temp.path()), fs::directory_iterator()), 1)
      << "the temporary file was left behind";
}

TEST(AtomicFile, UnwritableFolderIsAnError) {
  EXPECT_THROW(AtomicFile("/nonexistent-folder/x"), Error);
}

TEST(FileLock, SecondProcessIsRefusedUntilTheFirstDies) {
  const TempFolder temp;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const FileLock lock(temp / "lock", "holder");
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  try {
    const FileLock second(temp / "lock", "runs/a");
    ADD_FAILURE() << "two processes hold the lock";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("runs/a"), std::string::npos);
  }
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_NO_THROW(FileLock(temp / "lock", "runs/a"));
  EXPECT_NO_THROW(FileLock(temp / "lock", "runs/a")) << "destruction did not release it";
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace adagp::core
