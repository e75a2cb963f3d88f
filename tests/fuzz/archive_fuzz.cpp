// Any bytes are either a DataError or members of no more than unpacked_limit() bytes.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "adagp/base/core/error.h"
#include "adagp/base/io/archive.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace adagp;
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (file < 0 || ::write(file, bytes, count) != static_cast<ssize_t>(count)) std::abort();
  try {
    uintmax_t all = 0;
    io::for_each_member("/proc/self/fd/" + std::to_string(file),
                        [&](const std::string&, const std::string& content) {
                          all += content.size();
                          if (all > io::unpacked_limit(count)) std::abort();
                        });
  } catch (const DataError&) {
  }
  ::close(file);
  return 0;
}
