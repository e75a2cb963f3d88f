#pragma once
// Members of .tar, .tar.gz, .tar.xz and .zip files in their order.

#include <cstdint>
#include <functional>
#include <string>

#include "adagp/base/core/files.h"

namespace adagp::io {

bool is_archive_name(const std::string& name);
bool have_archive();
// How many bytes the wanted members of an archive of this size may have in all: a small file must
// not take all memory.
uintmax_t unpacked_limit(uintmax_t archive_bytes);
// Calls `visit(member name, bytes)` for every regular file, or for those whose name is `wanted`;
// other members are never held in memory. After them come the links, hard and symbolic, with the
// bytes of the member they lead to. Throws DataError when the archive is cut off or corrupt, when a
// wanted link leads to no file of the archive, and beyond unpacked_limit().
void for_each_member(const core::fs::path& path,
                     const std::function<void(const std::string&, std::string)>& visit,
                     const std::function<bool(const std::string&)>& wanted = {});

}  // namespace adagp::io
