#include "adagp/base/core/provenance.h"

namespace adagp::core {
namespace {

std::vector<std::string>& remembered_words() {
  static std::vector<std::string> words;
  return words;
}

}  // namespace

void remember_command(int argc, const char* const* argv) {
  remembered_words().assign(argv, argv + argc);
}

const std::vector<std::string>& command() {
  return remembered_words();
}

}  // namespace adagp::core
