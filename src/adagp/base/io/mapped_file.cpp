#include "adagp/base/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace adagp::io {
namespace {

constexpr off_t kWhole = 64 << 20;  // smaller files are read

// The pages of a large file, or null.
void* map_regular(const core::fs::path& path, size_t& count) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat status {};
  void* mapping = MAP_FAILED;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > kWhole) {
    count = static_cast<size_t>(status.st_size);
    mapping = ::mmap(nullptr, count, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  ::close(descriptor);
  if (mapping == MAP_FAILED) return nullptr;
  // Most is jumped over: reading ahead would fill memory with it.
  ::madvise(mapping, count, MADV_RANDOM);
  return mapping;
}

}  // namespace

MappedFile::MappedFile(const core::fs::path& path) {
  size_t count = 0;
  mapping_ = map_regular(path, count);
  if (mapping_ == nullptr) {
    read_ = core::read_file(path);  // says what is wrong with it
    bytes_ = read_;
    return;
  }
  bytes_ = {static_cast<const char*>(mapping_), count};
}

void MappedFile::release() const {
  if (mapping_ != nullptr) ::madvise(mapping_, bytes_.size(), MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

}  // namespace adagp::io
