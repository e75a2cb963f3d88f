#pragma once
// Which program this is and how it was called, for the record of a run.

#include <string>
#include <vector>

namespace adagp::core {

// cmake/Commit.cmake writes these two.
std::string version();  // "0.1.0"
// Of the sources, abbreviated, with a "+" where files were changed; empty when not built in a git
// repository.
std::string commit();

// The words of the command line. Empty in programs that do not call remember_command().
void remember_command(int argc, const char* const* argv);
const std::vector<std::string>& command();

}  // namespace adagp::core
