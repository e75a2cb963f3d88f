#pragma once
// From which sources the program was built. cmake/Commit.cmake writes the definition.

#include <string>

namespace adagp::run {

// Abbreviated, with a "+" where files were changed; empty when not built in a git repository.
std::string commit();

}  // namespace adagp::run
