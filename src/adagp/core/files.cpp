#include "adagp/core/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::core {
namespace {

constexpr size_t kReadBlock = 1 << 16;

}  // namespace

std::string read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw DataError(path.string() + ": is a folder, expected a file");
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw DataError(path.string() + ": cannot be opened: " + std::strerror(errno));
  }
  // The size is a hint: pipes have none, and a file may grow meanwhile.
  const auto size = fs::file_size(path, ignored);
  std::string bytes(ignored ? kReadBlock : static_cast<size_t>(size) + 1, '\0');
  size_t filled = 0;
  ssize_t got = 0;
  do {
    if (filled == bytes.size()) bytes.resize(2 * bytes.size());
    got = ::read(descriptor, bytes.data() + filled, bytes.size() - filled);
    if (got > 0) filled += static_cast<size_t>(got);
  } while (got > 0 || (got < 0 && errno == EINTR));
  const int reason = errno;
  ::close(descriptor);
  if (got < 0) throw DataError(path.string() + ": reading failed: " + std::strerror(reason));
  bytes.resize(filled);
  return bytes;
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  temporary_ = path_;
  temporary_ += ".tmp";
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("cannot be created");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
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

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("fsync failed");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be replaced");
  ::close(descriptor_);
  descriptor_ = -1;

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
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
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
