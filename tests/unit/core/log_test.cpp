#include "adagp/base/core/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include <gtest/gtest.h>

#include "adagp/base/core/files.h"
#include "adagp/base/core/output.h"
#include "unit/temp_folder.h"

namespace adagp::core {
namespace {

// stdout and stderr of `work` in one file, as "> FILE 2>&1" has them.
template <typename Work>
std::string both_streams(const Work& work) {
  const testing::TempFolder folder;
  const std::string file = folder / "both";
  std::fflush(stdout);
  const int out = ::dup(STDOUT_FILENO), err = ::dup(STDERR_FILENO);
  const int one = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(one, STDOUT_FILENO);
  ::dup2(one, STDERR_FILENO);
  work();
  std::fflush(stdout);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  for (const int descriptor : {out, err, one}) ::close(descriptor);
  return read_file(file);
}

TEST(Log, StandsAfterWhatWasPrintedBefore) {
  const std::string line(3000, 'x');  // two of them are more than a buffer
  const std::string seen = both_streams([&] {
    for (int i = 0; i < 3; ++i) print(line + "\n");
    log_warning("careful");
    print("after\n");
  });
  const std::string lines = line + "\n" + line + "\n" + line + "\n";
  EXPECT_TRUE(seen == lines + "W careful\nafter\n") << seen.substr(seen.size() - 100);
}

TEST(Log, NoTextOfAFileCanPassForAMessageOfItsOwn) {
  const std::string seen =
      both_streams([] { log_info("layer 'a\nE all is lost\n\x1b[2K' is unknown"); });
  EXPECT_EQ(seen, "I layer 'a\n  E all is lost\n  \\x1b[2K' is unknown\n");
}

}  // namespace
}  // namespace adagp::core
