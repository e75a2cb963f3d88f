// Which variables of the communication libraries are set, and that the user's own stay.

#include "adagp/teams/comm/library_settings.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "unit/in_child.h"

namespace adagp::comm {
namespace {

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// In a process with one thread, as at the beginning of main().
bool sets(const char* master, const std::string& names_server) {
  return testing::in_child([&] {
           for (const char* name : {"TORCH_FR_BUFFER_SIZE", "RES_OPTIONS", "MASTER_ADDR"}) {
             unsetenv(name);
           }
           setenv("TORCH_NCCL_BLOCKING_WAIT", "0", 1);
           if (master != nullptr) setenv("MASTER_ADDR", master, 1);
           set_library_variables();
           return value_of("TORCH_FR_BUFFER_SIZE") == "0" &&
                          value_of("TORCH_NCCL_BLOCKING_WAIT") == "0" &&
                          value_of("RES_OPTIONS") == names_server
                      ? 0
                      : 1;
         }) == 0;
}

TEST(LibrarySettings, KeepWhatTheUserHasSet) {
  EXPECT_TRUE(sets(nullptr, ""));
  EXPECT_TRUE(sets("node7", ""));
  EXPECT_TRUE(sets("127.0.0.1", "timeout:1 attempts:1"));
}

}  // namespace
}  // namespace adagp::comm
