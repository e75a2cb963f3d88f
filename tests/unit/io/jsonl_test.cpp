#include "adagp/base/io/jsonl.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "unit/records.h"
#include "unit/temp_folder.h"

namespace adagp::io {
namespace {

using testing::records_of;
using testing::TempFolder;

constexpr int64_t kEverything = INT64_MAX;

TEST(Jsonl, RoundTripOneObjectPerLine) {
  const TempFolder temp;
  {
    JsonlWriter writer(temp / "m", kEverything);
    writer.write({{"step", 1}, {"loss", 0.1}, {"text", "two\nlines"}});
    writer.write({{"step", 2}, {"loss", std::nan("")}});
  }
  const auto records = records_of(temp / "m");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["loss"].get<double>(), 0.1);
  EXPECT_EQ(records[0]["text"], "two\nlines");
  EXPECT_TRUE(records[1]["loss"].is_null());  // JSON has no NaN
}

TEST(Jsonl, AppendsToAnEarlierRun) {
  const TempFolder temp;
  JsonlWriter(temp / "m", kEverything).write({{"step", 1}});
  JsonlWriter(temp / "m", kEverything).write({{"step", 2}});
  EXPECT_EQ(core::read_file(temp / "m"), "{\"step\":1}\n{\"step\":2}\n");
}

TEST(Jsonl, DropsALineCutAtAnyByte) {
  const TempFolder temp;
  const std::string first = "{\"step\":1}\n", second = "{\"step\":2,\"loss\":0.5}\n";
  for (size_t length = 0; length < second.size(); ++length) {
    core::write_file(temp / "m", first + second.substr(0, length));
    JsonlWriter(temp / "m", kEverything).write({{"step", 3}});
    EXPECT_EQ(core::read_file(temp / "m"), first + "{\"step\":3}\n") << length;
  }
}

TEST(Jsonl, DropsLinesPastTheStepAndKeepsThoseWithout) {
  const TempFolder temp;
  core::write_file(
      temp / "m",
      "{\"step\":1}\n{\"note\":\"x\"}\n{\"step\":3}\n{\"step\":2}\n{\"step\":2.5}\n[1]\n");
  { JsonlWriter writer(temp / "m", 2); }
  EXPECT_EQ(core::read_file(temp / "m"), "{\"step\":1}\n{\"note\":\"x\"}\n{\"step\":2}\n[1]\n");
}

TEST(Jsonl, DropsAGarbledLineWhenAppending) {
  const TempFolder temp;
  core::write_file(temp / "m", std::string("{\"step\":1}\n\0\0\0\n{\"step\":2}\n", 26));
  core::set_log_level(core::LogLevel::kOff);
  { JsonlWriter writer(temp / "m", kEverything); }
  core::set_log_level(core::LogLevel::kInfo);
  EXPECT_EQ(core::read_file(temp / "m"), "{\"step\":1}\n{\"step\":2}\n");
}

TEST(Jsonl, FlushedLinesAreThereForOthers) {
  const TempFolder temp;
  JsonlWriter writer(temp / "m", kEverything);
  writer.write({{"step", 1}});
  writer.flush();
  EXPECT_EQ(records_of(temp / "m").size(), 1u);
}

TEST(Jsonl, FullDiskIsAnError) {
  const TempFolder temp;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{16, 16};
    setrlimit(RLIMIT_FSIZE, &limit);
    JsonlWriter writer(temp / "m", kEverything);
    try {
      writer.write({{"text", std::string(100, 'x')}});
      writer.flush();
    } catch (const Error&) {
      _exit(0);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace adagp::io
