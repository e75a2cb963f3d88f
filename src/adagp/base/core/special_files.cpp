#include "adagp/base/core/special_files.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

constexpr size_t kReadBlock = 1 << 16;
constexpr int kMostLinks = 40;        // as the kernel's own limit
constexpr int kSignalInterval = 200;  // milliseconds
constexpr size_t kLongestName = 255;  // in bytes, on every usual file system

constexpr std::string_view kDigits = "0123456789abcdef", kEnding = ".tmp";
constexpr size_t kRandomDigits = 8, kTail = 1 + kRandomDigits + kEnding.size();

[[noreturn]] void refuse(const fs::path& path, mode_t mode) {
  const char* kind = S_ISDIR(mode)    ? "folder"
                     : S_ISFIFO(mode) ? "pipe"
                     : S_ISSOCK(mode) ? "socket"
                                      : "device";
  throw DataError(cat(path.string(), ": is a ", kind, ", expected a file"));
}

// /proc/self/fd/1 is a link that leads to an open descriptor, not to a name.
bool names_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
  return !error && folder.string().starts_with("/proc/") && folder.filename() == "fd";
}

// False when a signal came first.
bool wait_for_bytes(int descriptor) {
  pollfd wanted{descriptor, POLLIN, 0};
  while (pending_signal() == 0) {
    if (::poll(&wanted, 1, kSignalInterval) > 0) return true;
  }
  return false;
}

// Reading on would end other programs before it ends this one.
void check_size(uintmax_t bytes, uintmax_t most, const fs::path& path) {
  if (bytes <= most) return;
  throw DataError(cat(path.string(), ": has ", human_bytes(static_cast<double>(bytes)),
                      " or more, expected at most ", human_bytes(static_cast<double>(most))));
}

uintmax_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || bytes <= 0) return std::numeric_limits<uintmax_t>::max();
  return static_cast<uintmax_t>(pages) * static_cast<uintmax_t>(bytes);
}

}  // namespace

std::string read_all(int descriptor, const fs::path& path) {
  struct stat status {};
  ::fstat(descriptor, &status);
  const bool regular = S_ISREG(status.st_mode);
  const uintmax_t most = regular ? machine_memory() : machine_memory() / 4;
  if (regular) check_size(static_cast<uintmax_t>(status.st_size), most, path);
  // The size is a hint: pipes have none, and a file may grow meanwhile.
  std::string bytes(regular ? static_cast<size_t>(status.st_size) + 1 : kReadBlock, '\0');
  size_t filled = 0;
  ssize_t got = 0;
  do {
    if (filled == bytes.size()) {
      check_size(filled, most, path);
      bytes.resize(2 * bytes.size());
    }
    if (!regular && !wait_for_bytes(descriptor)) {
      throw Interrupted(path.string() + ": interrupted while waiting for its bytes",
                        pending_signal());
    }
    got = ::read(descriptor, bytes.data() + filled, bytes.size() - filled);
    if (got > 0) filled += static_cast<size_t>(got);
  } while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
  if (got < 0) throw DataError(path.string() + ": reading failed: " + std::strerror(errno));
  bytes.resize(filled);
  return bytes;
}

std::string read_regular_file(const fs::path& path, uintmax_t most) {
  require_regular_file(path);
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (!error) check_size(size, most, path);
  return read_file(path);
}

void require_regular_file(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw DataError(path.string() + ": cannot be opened: " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) refuse(path, status.st_mode);
}

fs::path behind_links(const fs::path& path) {
  fs::path at = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && !names_descriptor(at) && fs::is_symlink(at, error); ++i) {
    const fs::path target = fs::read_symlink(at, error);
    if (error) break;
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return at;
}

void write_output(const fs::path& path, std::string_view text) {
  write_file(behind_links(path), text);
}

void check_output(const fs::path& path) {
  const fs::path target = behind_links(path);
  if (is_written_in_place(target)) return;
  const AtomicFile removed_at_once(target);
}

bool is_written_in_place(const fs::path& path) {
  if (names_descriptor(path)) return true;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  return S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
}

fs::path temporary_name(const fs::path& path) {
  std::random_device random;
  std::string name = path.filename().string();
  name = name.substr(0, kLongestName - kTail) + ".";
  for (size_t i = 0; i < kRandomDigits; ++i) name += kDigits[random() % kDigits.size()];
  return path.parent_path() / name.append(kEnding);
}

void remove_temporaries(const fs::path& folder, std::string_view name) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string found = entry.path().filename().string();
    if (!found.starts_with(name) || found.size() < name.size() + kTail) continue;
    const std::string tail = found.substr(found.size() - kTail);
    const bool ours = tail.front() == '.' && tail.ends_with(kEnding) &&
                      tail.find_first_not_of(kDigits, 1) == 1 + kRandomDigits;
    if (ours) fs::remove(entry.path(), ignored);
  }
}

}  // namespace adagp::core
