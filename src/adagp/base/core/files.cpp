#include "adagp/base/core/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

constexpr int kMostNames = 100;  // tried for a temporary file before giving up
constexpr mode_t kMode = 0644;

struct Closing {
  int descriptor;
  ~Closing() { ::close(descriptor); }
};

}  // namespace

std::string read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw DataError(path.string() + ": is a folder, expected a file");
  // A pipe without a writer must not block here, where a signal would go unheard.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    throw DataError(path.string() + ": cannot be opened: " + std::strerror(errno));
  }
  const Closing closing{descriptor};
  return read_all(descriptor, path);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (is_written_in_place(path_)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) fail("cannot be opened");
    return;
  }
  std::error_code ignored;
  if (fs::is_directory(fs::symlink_status(path_, ignored))) {
    errno = EISDIR;
    fail("cannot be written");
  }
  // The file may be private: its successor is, too.
  struct stat old {};
  const bool replaces = ::lstat(path_.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  for (int i = 0; i < kMostNames && descriptor_ < 0; ++i) {
    temporary_ = temporary_name(path_);
    descriptor_ =
        ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) fail("cannot be created");
  if (replaces) ::fchmod(descriptor_, old.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) {
  throw Error(cat(path_.string(), ": ", what, ": ", std::strerror(errno)));
}

void AtomicFile::write(const void* bytes, size_t count) {
  const char* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("writing failed");
    at += written;
    count -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit(Sync sync) {
  if (temporary_.empty()) {  // written in place
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("writing failed");
    return;
  }
  if (sync == Sync::kNow && ::fsync(descriptor_) != 0) fail("fsync failed");
  // Some file systems say only here that they are full.
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    errno = reason;
    fail(closed != 0 ? "writing failed" : "cannot be replaced");
  }

  if (sync == Sync::kLater) return;

  // The rename itself must survive a power cut too.
  const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    ::fsync(handle);
    ::close(handle);
  }
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error(path.string() + ": folder cannot be created: " + error.message());
}

FileLock::FileLock(const fs::path& path, const std::string& what) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kMode);
  if (descriptor_ < 0) {
    throw Error(cat(path.string(), ": cannot be opened for locking: ", std::strerror(errno)));
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    ::close(descriptor_);
    if (reason != EWOULDBLOCK) {
      throw Error(cat(path.string(), ": cannot be locked: ", std::strerror(reason)));
    }
    throw UsageError(what +
                     ": another process is working in it; wait for it or choose another folder");
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace adagp::core
