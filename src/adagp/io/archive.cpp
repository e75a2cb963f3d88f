#include "adagp/io/archive.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <vector>

#ifdef ADAGP_HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::io {

bool is_archive_name(const std::string& name) {
  static constexpr std::array kEndings{".tar",     ".tar.gz", ".tgz",     ".tar.xz", ".txz",
                                       ".tar.bz2", ".tbz2",   ".tar.zst", ".zip"};
  const std::string small = core::lower(name);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](const char* ending) { return small.ends_with(ending); });
}

#ifdef ADAGP_HAVE_ARCHIVE
namespace {

constexpr size_t kBlockBytes = 1 << 18;
constexpr size_t kMaxMemberBytes = size_t{1} << 32;

struct ArchiveClose {
  void operator()(archive* handle) const { archive_read_free(handle); }
};

[[noreturn]] void archive_failed(const core::fs::path& path, archive* handle) {
  const char* reason = archive_error_string(handle);
  throw DataError(core::cat(path.string(), ": the archive is cut off or corrupt: ",
                            reason != nullptr ? reason : "no reason given",
                            "; copy or download it again"));
}

std::string read_member(archive* handle, const core::fs::path& path, const std::string& name) {
  std::string bytes;
  std::vector<char> block(kBlockBytes);
  while (true) {
    const la_ssize_t got = archive_read_data(handle, block.data(), block.size());
    if (got == ARCHIVE_RETRY) continue;
    if (got < 0) archive_failed(path, handle);
    if (got == 0) return bytes;
    bytes.append(block.data(), static_cast<size_t>(got));
    if (bytes.size() > kMaxMemberBytes) {
      throw DataError(core::cat(path.string(), ": member '", name, "' is over ",
                                core::human_bytes(kMaxMemberBytes)));
    }
  }
}

// Compressed archives know where they end; a plain tar ends with two blocks of zeros, and
// libarchive takes the end of the file for the end of the archive without asking for them.
void check_tar_end(const core::fs::path& path) {
  std::array<char, 1024> tail{};
  std::ifstream in(path, std::ios::binary);
  const auto size = core::fs::file_size(path);
  if (size >= tail.size()) in.seekg(-static_cast<std::streamoff>(tail.size()), std::ios::end);
  if (size < tail.size() || !in.read(tail.data(), tail.size()) ||
      std::any_of(tail.begin(), tail.end(), [](char c) { return c != 0; })) {
    throw DataError(path.string() +
                    ": the archive is cut off: its end mark (1024 zero bytes) is missing; "
                    "copy or download it again");
  }
}

}  // namespace

bool have_archive() {
  return true;
}

void for_each_member(const core::fs::path& path,
                     const std::function<void(const std::string&, std::string)>& visit,
                     const std::function<bool(const std::string&)>& wanted) {
  const std::unique_ptr<archive, ArchiveClose> handle(archive_read_new());
  archive_read_support_filter_all(handle.get());
  archive_read_support_format_tar(handle.get());
  // Not the streaming reader: only the directory at the end tells a whole zip from a cut-off one.
  archive_read_support_format_zip_seekable(handle.get());
  if (archive_read_open_filename(handle.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    const char* reason = archive_error_string(handle.get());
    throw DataError(core::cat(path.string(), ": cannot be opened as an archive: ",
                              reason != nullptr ? reason : "no reason given"));
  }
  while (true) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status == ARCHIVE_RETRY) continue;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) archive_failed(path, handle.get());
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) throw DataError(path.string() + ": a member has an unreadable name");
    const std::string member = name;
    if (wanted && !wanted(member)) continue;
    visit(member, read_member(handle.get(), path, member));
  }
  const bool tar = (archive_format(handle.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
  if (tar && archive_filter_code(handle.get(), 0) == ARCHIVE_FILTER_NONE) check_tar_end(path);
}

#else

bool have_archive() {
  return false;
}

void for_each_member(const core::fs::path& path,
                     const std::function<void(const std::string&, std::string)>&,
                     const std::function<bool(const std::string&)>&) {
  throw DataError(path.string() +
                  ": this program was built without libarchive; unpack the archive yourself, or "
                  "install libarchive-dev and build again");
}

#endif

}  // namespace adagp::io
