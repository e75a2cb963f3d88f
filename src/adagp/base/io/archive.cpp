#include "adagp/base/io/archive.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#ifdef ADAGP_HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::io {

bool is_archive_name(const std::string& name) {
  static constexpr std::array kEndings{".tar",     ".tar.gz", ".tgz",     ".tar.xz", ".txz",
                                       ".tar.bz2", ".tbz2",   ".tar.zst", ".zip"};
  const std::string small = core::lower(name);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](const char* ending) { return small.ends_with(ending); });
}

uintmax_t unpacked_limit(uintmax_t archive_bytes) {
  // Images are compressed already, and text shrinks to a third to a tenth.
  constexpr uintmax_t kAlways = uintmax_t{256} << 20, kRatio = 20;
  return kAlways + kRatio * archive_bytes;
}

#ifdef ADAGP_HAVE_ARCHIVE
namespace {

namespace fs = core::fs;

constexpr size_t kBlockBytes = 1 << 18;
constexpr size_t kMemberCost = 512;  // what remembering a member takes beside its bytes and name
constexpr int kMostLinks = 40;       // from one to the next, as the kernel has it

struct ArchiveClose {
  void operator()(archive* handle) const { archive_read_free(handle); }
};

[[noreturn]] void archive_failed(const fs::path& path, archive* handle, const char* what) {
  const char* reason = archive_error_string(handle);
  throw DataError(core::cat(path.string(), ": ", what, ": ",
                            reason != nullptr ? reason : "no reason given",
                            "; copy or download it again"));
}

// What may still be taken into memory.
class Budget {
 public:
  explicit Budget(const fs::path& path)
      : path_(path), size_(fs::file_size(path)), left_(unpacked_limit(size_)) {}

  void take(uintmax_t bytes) {
    if (bytes > left_) {
      throw DataError(core::cat(
          path_.string(), ": what is needed of it unpacks to more than ",
          core::human_bytes(static_cast<double>(unpacked_limit(size_))),
          ", the limit for an archive of ", core::human_bytes(static_cast<double>(size_)),
          ": such a file may be made to use up the memory; if you trust it, pack it anew without "
          "compression, or unpack it and give the folder"));
    }
    left_ -= bytes;
  }

 private:
  fs::path path_;
  uintmax_t size_, left_;
};

std::string read_member(archive* handle, const fs::path& path, Budget& budget) {
  std::string bytes;
  std::vector<char> block(kBlockBytes);
  while (true) {
    const la_ssize_t got = archive_read_data(handle, block.data(), block.size());
    if (got == ARCHIVE_RETRY) continue;
    if (got < 0) archive_failed(path, handle, "the archive is cut off or corrupt");
    if (got == 0) return bytes;
    budget.take(static_cast<uintmax_t>(got));
    bytes.append(block.data(), static_cast<size_t>(got));
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

std::string normal(const fs::path& name) {
  return name.lexically_normal().generic_string();
}

// The member that a link leads to; "" for what is no link.
std::string link_target(archive_entry* entry, const std::string& name) {
  const char* hard = archive_entry_hardlink(entry);
  const char* symbolic = archive_entry_symlink(entry);
  // A hard link may carry the bytes itself.
  if (hard != nullptr && archive_entry_size(entry) == 0) return normal(hard);
  if (symbolic != nullptr) return normal(fs::path(name).parent_path() / symbolic);
  return "";
}

using OnMember = std::function<void(archive*, archive_entry*, const std::string& name)>;

void walk_archive(const fs::path& path, const OnMember& on_member) {
  const std::unique_ptr<archive, ArchiveClose> handle(archive_read_new());
  // Not all that libarchive knows: for some it starts another program.
  archive_read_support_filter_gzip(handle.get());
  archive_read_support_filter_bzip2(handle.get());
  archive_read_support_filter_xz(handle.get());
  archive_read_support_filter_zstd(handle.get());
  archive_read_support_format_tar(handle.get());
  // Not the streaming reader: only the directory at the end tells a whole zip from a cut-off one.
  archive_read_support_format_zip_seekable(handle.get());
  if (archive_read_open_filename(handle.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    archive_failed(path, handle.get(), "cannot be opened as an archive");
  }
  while (true) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status == ARCHIVE_RETRY) continue;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
      archive_failed(path, handle.get(), "the archive is cut off or corrupt");
    }
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) throw DataError(path.string() + ": a member has an unreadable name");
    on_member(handle.get(), entry, name);
  }
  const bool tar = (archive_format(handle.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
  if (tar && archive_filter_code(handle.get(), 0) == ARCHIVE_FILTER_NONE) check_tar_end(path);
}

// name -> where it leads, of every link in the archive.
using Links = std::map<std::string, std::string>;

std::string end_of(const Links& links, const std::string& name) {
  std::string at = name;
  for (int i = 0; i < kMostLinks; ++i) {
    const auto next = links.find(at);
    if (next == links.end()) break;
    at = next->second;
  }
  return at;
}

}  // namespace

bool have_archive() {
  return true;
}

void for_each_member(const fs::path& path,
                     const std::function<void(const std::string&, std::string)>& visit,
                     const std::function<bool(const std::string&)>& wanted) {
  if (!fs::is_regular_file(path)) throw DataError(path.string() + ": no such file");
  Budget budget(path);
  Links links;
  std::vector<std::string> wanted_links;
  walk_archive(path, [&](archive* handle, archive_entry* entry, const std::string& name) {
    const std::string target = link_target(entry, name);
    const bool regular = archive_entry_filetype(entry) == AE_IFREG;
    const bool take = (regular || !target.empty()) && (!wanted || wanted(name));
    if (take || !target.empty()) budget.take(name.size() + target.size() + kMemberCost);
    if (!target.empty()) {
      links[normal(name)] = target;
      if (take) wanted_links.push_back(name);
    } else if (take) {
      visit(name, read_member(handle, path, budget));
    }
  });
  if (wanted_links.empty()) return;

  // A second time through the archive costs less memory than keeping whatever a link may lead to.
  std::map<std::string, std::vector<std::string>> linked;  // target -> names
  for (const auto& name : wanted_links) linked[end_of(links, normal(name))].push_back(name);
  walk_archive(path, [&](archive* handle, archive_entry* entry, const std::string& name) {
    const auto found = linked.find(normal(name));
    if (found == linked.end() || !link_target(entry, name).empty() ||
        archive_entry_filetype(entry) != AE_IFREG) {
      return;
    }
    const std::string bytes = read_member(handle, path, budget);
    for (const auto& link : found->second) {
      budget.take(bytes.size());
      visit(link, bytes);
    }
    linked.erase(found);
  });
  if (linked.empty()) return;
  throw DataError(core::cat(path.string(), ": member '", linked.begin()->second.front(),
                            "' is a link to '", linked.begin()->first,
                            "', which is no file of the archive; pack the files themselves (tar "
                            "--dereference --hard-dereference)"));
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
