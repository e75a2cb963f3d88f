#pragma once
// Members of .tar, .tar.gz, .tar.xz and .zip files in their order.

#include <functional>
#include <string>

#include "adagp/core/files.h"

namespace adagp::io {

bool is_archive_name(const std::string& name);
bool have_archive();
// Calls `visit(member name, bytes)` for every regular file, or for those whose name is `wanted`.
// Throws DataError when the archive is cut off or corrupt.
void for_each_member(const core::fs::path& path,
                     const std::function<void(const std::string&, std::string)>& visit,
                     const std::function<bool(const std::string&)>& wanted = {});

}  // namespace adagp::io
