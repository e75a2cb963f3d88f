#pragma once
// A folder held open, so that its being moved or deleted is noticed.

#include <filesystem>

namespace adagp::core {

namespace fs = std::filesystem;

class FolderHandle {
 public:
  // Throws Error when the folder cannot be opened.
  explicit FolderHandle(fs::path path);
  ~FolderHandle();
  FolderHandle(const FolderHandle&) = delete;
  FolderHandle& operator=(const FolderHandle&) = delete;

  // Whether the name it was opened by no longer leads to it.
  bool moved() const;
  // Where it is now. Throws Error when it was deleted, or moved to where it cannot be found.
  fs::path path() const;

 private:
  bool is_at(const fs::path& path) const;

  fs::path path_;
  int descriptor_ = -1;
};

}  // namespace adagp::core
