#pragma once
// Which program this is and how it was called, for the record of a run.

#include <string>
#include <vector>

namespace adagp::core {

std::string version();  // "0.1.0", as CMake's project()

// The words of the command line. Empty in programs that do not call remember_command().
void remember_command(int argc, const char* const* argv);
const std::vector<std::string>& command();

}  // namespace adagp::core
