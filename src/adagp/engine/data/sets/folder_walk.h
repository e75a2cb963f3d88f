#pragma once
// The files below a folder, through links to folders too. No torch here.

#include <functional>
#include <string>

#include "adagp/base/core/files.h"

namespace adagp::data {

struct FolderWalk {
  // Which part of the data set a path relative to the root belongs to; "": none yet.
  std::function<std::string(const std::string& relative)> part_of;
  std::function<bool(const std::string& relative)> wanted;  // files by their names
  std::function<void(const core::fs::path& file, const std::string& relative)> visit;
};

// Calls `visit` for the wanted regular files, in the order of their names. A folder that several
// links lead to is entered once for every part, and never from inside of itself. Throws DataError
// naming a folder of a part that cannot be read and a wanted file whose link leads nowhere; folders
// of no part are warned of.
void walk_folder(const core::fs::path& root, const FolderWalk& walk);

}  // namespace adagp::data
