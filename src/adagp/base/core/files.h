#pragma once
// Files that are whole or absent: write to a temporary name, fsync, rename.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace adagp::core {

namespace fs = std::filesystem;

// The file's bytes. Throws DataError naming the file when it cannot be read.
std::string read_file(const fs::path& path);

// When a complete file is on the disk: before commit() returns, or when the system likes. The end
// of the process, however it ends, loses neither. After a power cut a file of the second kind may
// be missing, empty or cut short.
enum class Sync { kNow, kLater };

// A file under construction. Nothing appears at `path` before commit(); a destroyed, uncommitted
// writer removes its temporary file, so a full disk or an exception leaves the old file in place.
class AtomicFile {
 public:
  explicit AtomicFile(fs::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throws Error naming the file and the system's reason (no space left, permission denied, ...).
  void write(const void* bytes, size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit(Sync sync = Sync::kNow);

 private:
  [[noreturn]] void fail(const char* what);

  fs::path path_;
  fs::path temporary_;
  int descriptor_ = -1;
};

void write_file(const fs::path& path, std::string_view text);
// mkdir -p; throws Error with the system's reason.
void make_folder(const fs::path& path);

// An exclusive flock on `path`, held until destruction or the end of the process however it ends.
class FileLock {
 public:
  // Throws UsageError when another process holds it; `what` names the thing for the message.
  FileLock(const fs::path& path, const std::string& what);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace adagp::core
