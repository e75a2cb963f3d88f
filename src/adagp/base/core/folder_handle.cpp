#include "adagp/base/core/folder_handle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::core {

FolderHandle::FolderHandle(fs::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw Error(cat(path_.string(), ": cannot be opened: ", std::strerror(errno)));
  }
}

FolderHandle::~FolderHandle() {
  ::close(descriptor_);
}

bool FolderHandle::is_at(const fs::path& path) const {
  struct stat own {
  }, there{};
  return ::fstat(descriptor_, &own) == 0 && ::stat(path.c_str(), &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

bool FolderHandle::moved() const {
  return !is_at(path_);
}

fs::path FolderHandle::path() const {
  if (!moved()) return path_;
  std::error_code error;
  const fs::path now = fs::read_symlink(cat("/proc/self/fd/", descriptor_), error);
  if (!error && is_at(now)) return now;
  throw Error(path_.string() +
              ": was deleted, or moved to another file system, while a run worked in it; nothing "
              "more can be saved there");
}

}  // namespace adagp::core
