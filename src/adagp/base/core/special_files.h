#pragma once
// Pipes, devices and links where a file is expected; files under construction and what killed
// processes leave of them.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

namespace adagp::core {

namespace fs = std::filesystem;

// The bytes of a file of ours, such as those in a run folder. Throws DataError for a pipe, a device
// or a folder without waiting for it, and for a file of more than `most` bytes without reading it.
std::string read_regular_file(const fs::path& path,
                              uintmax_t most = std::numeric_limits<uintmax_t>::max());
// Throws DataError when the path leads to nothing, or to something else than a regular file.
void require_regular_file(const fs::path& path);
// What a descriptor gives until its end; `path` is for messages. Waits for a pipe's writer; a
// signal (core/interrupt.h) ends the waiting with Interrupted. Throws DataError for a file larger
// than this machine's memory, and for a pipe or a device that gives more than a quarter of it.
std::string read_all(int descriptor, const fs::path& path);

// Where a file that the user named is to be written: what a link leads to, whether it is there or
// not. (AtomicFile replaces the link itself.)
fs::path behind_links(const fs::path& path);
// write_file() there.
void write_output(const fs::path& path, std::string_view text);
// Throws what write_output() would throw by now because no file can be made there. Leaves nothing
// behind; pipes and devices are not opened.
void check_output(const fs::path& path);

// A device, a pipe or an open descriptor (/dev/stdout): written as it is, since no file can take
// its place.
bool is_written_in_place(const fs::path& path);

// A new name beside `path` for a file under construction: "summary.json.3f0a91c2.tmp".
fs::path temporary_name(const fs::path& path);
// Removes what killed processes left under such names of files in `folder` that begin with `name`.
// Only for those who hold a lock on them.
void remove_temporaries(const fs::path& folder, std::string_view name);

}  // namespace adagp::core
