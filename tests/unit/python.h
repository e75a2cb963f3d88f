#pragma once
// Runs a Python script of the test suite, for comparisons with other people's libraries.

#include <cstdio>
#include <stdexcept>
#include <string>

namespace adagp::testing {

// The script's standard output. `script` is relative to the source folder; throws when it fails.
inline std::string run_python(const std::string& script, const std::string& arguments) {
  const std::string command =
      std::string(ADAGP_PYTHON) + " " + ADAGP_SOURCE_DIR + "/" + script + " " + arguments;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error(command + ": cannot be started");
  std::string out;
  char block[4096];
  for (size_t got = 0; (got = fread(block, 1, sizeof block, pipe)) > 0;) out.append(block, got);
  if (pclose(pipe) != 0) throw std::runtime_error(command + ": failed; it printed: " + out);
  return out;
}

}  // namespace adagp::testing
