#include "adagp/base/core/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"

namespace adagp::core {
namespace {

std::atomic<int> first_reason{0};  // why try_flush_stdout() failed

[[noreturn]] void fail(int reason) {
  if (first_reason != 0) reason = first_reason;
  throw Error(std::string("stdout: writing failed: ") +
              (reason != 0 ? std::strerror(reason) : "an earlier line did not arrive") +
              "; what was printed is incomplete");
}

void put(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail(errno);
}

}  // namespace

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // open() takes the lowest free number, which is this one: those below are open by now.
    const int opened = ::open("/dev/null", O_RDWR);
    if (opened >= 0 && opened != stream) ::close(opened);
  }
}

void print(std::string_view text) {
  put(printable(text));
}

void print_data(std::string_view text) {
  static const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  terminal ? print(text) : put(text);
}

void try_flush_stdout() noexcept {
  errno = 0;
  int none = 0;
  if (std::fflush(stdout) != 0) first_reason.compare_exchange_strong(none, errno);
}

void flush_stdout() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail(errno);
}

}  // namespace adagp::core
