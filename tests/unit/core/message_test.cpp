// What people see of other libraries' exceptions.

#include "adagp/base/core/message.h"

#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include <gtest/gtest.h>

namespace adagp::core {
namespace {

TEST(Message, LosesTheTrace) {
  for (const char* trace : {"\nException raised from f at a.cpp:3 (most recent call first):\n...",
                            "\nframe #0: c10::ThrowEnforceNotMet(...) + 0x5c\nframe #1: ..."}) {
    const std::runtime_error error(std::string("sizes do not match:\n3 and 4") + trace);
    EXPECT_EQ(plain_message(error), "sizes do not match:\n3 and 4");
    EXPECT_FALSE(failed_allocation(error));
  }
}

TEST(Message, LosesTheNamesOfTheJsonLibrary) {
  const std::runtime_error error("[json.exception.parse_error.101] parse error at line 1: ends");
  EXPECT_EQ(plain_message(error), "parse error at line 1: ends");
  const std::runtime_error cut("[json.exception.");
  EXPECT_EQ(plain_message(cut), "[json.exception.");
}

TEST(Message, OfAFileSaysItsNameAndTheReason) {
  namespace fs = std::filesystem;
  const fs::filesystem_error error("cannot check", fs::path("runs/a"),
                                   std::make_error_code(std::errc::filename_too_long));
  EXPECT_EQ(plain_message(error), "runs/a: File name too long");
}

TEST(Message, OfAThreadThatCannotStartSaysWhatToDo) {
  const std::system_error error(std::make_error_code(std::errc::resource_unavailable_try_again));
  const std::string text = plain_message(error);
  EXPECT_NE(text.find("no thread can be started: "), std::string::npos) << text;
  EXPECT_NE(text.find("augment.workers"), std::string::npos) << text;
}

TEST(Message, OfAFailedAllocationSaysWhatToDo) {
  const std::runtime_error error(
      "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: "
      "you tried to allocate 3221225472 bytes. Error code 12 (Cannot allocate memory)\nframe #0: "
      "x");
  EXPECT_EQ(failed_allocation(error), 3221225472.0);
  const std::string text = plain_message(error);
  EXPECT_EQ(text.find("frame"), std::string::npos);
  EXPECT_NE(text.find("out of memory: 3.0 GiB"), std::string::npos) << text;
  EXPECT_NE(text.find("--batch"), std::string::npos) << text;
  EXPECT_EQ(failed_allocation(std::bad_alloc()), 0.0);
  EXPECT_EQ(plain_message(std::bad_alloc()).find("out of memory;"), 0U);
}

}  // namespace
}  // namespace adagp::core
