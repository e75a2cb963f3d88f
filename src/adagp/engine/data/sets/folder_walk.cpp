#include "adagp/engine/data/sets/folder_walk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::data {
namespace {

namespace fs = core::fs;

using Identity = std::pair<dev_t, ino_t>;

class Walker {
 public:
  explicit Walker(const FolderWalk& walk) : walk_(walk) {}

  void enter(const fs::path& folder, const std::string& relative) {
    struct stat found {};
    if (::stat(folder.c_str(), &found) != 0) return cannot_read(folder, relative, errno);
    const Identity identity{found.st_dev, found.st_ino};
    if (std::find(above_.begin(), above_.end(), identity) != above_.end()) {
      core::log_warning(folder.string() + ": a link back to a folder it is in; not followed");
      return;
    }
    if (!entered_.emplace(walk_.part_of(relative), identity).second) return;
    above_.push_back(identity);
    for (const fs::path& path : content_of(folder, relative)) {
      look_at(path, relative.empty() ? path.filename().string()
                                     : relative + "/" + path.filename().string());
    }
    above_.pop_back();
  }

 private:
  std::vector<fs::path> content_of(const fs::path& folder, const std::string& relative) {
    std::vector<fs::path> paths;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      paths.push_back(at->path());
    }
    if (error) cannot_read(folder, relative, error.value());
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  void look_at(const fs::path& path, const std::string& relative) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) return enter(path, relative);
    const bool wanted = walk_.wanted(relative);
    if (wanted && fs::is_regular_file(status)) return walk_.visit(path, relative);
    const bool nowhere = status.type() == fs::file_type::not_found ||
                         error == std::errc::too_many_symbolic_link_levels;
    if (nowhere && wanted) {
      throw DataError(path.string() + ": a link to a file that is not there; restore or remove it");
    }
    if (error && !nowhere) cannot_read(path, relative, error.value());
  }

  void cannot_read(const fs::path& path, const std::string& relative, int reason) {
    const std::string message =
        core::cat(path.string(), ": cannot be read: ", std::generic_category().message(reason));
    if (relative.empty() || !walk_.part_of(relative).empty()) {
      throw DataError(message + "; allow reading it (chmod), or move it out of the data set");
    }
    core::log_warning(message + "; what is in it is left out");
  }

  const FolderWalk& walk_;
  std::vector<Identity> above_;                         // the folders we are in
  std::set<std::pair<std::string, Identity>> entered_;  // with the part they were entered for
};

}  // namespace

void walk_folder(const fs::path& root, const FolderWalk& walk) {
  Walker(walk).enter(root, "");
}

}  // namespace adagp::data
