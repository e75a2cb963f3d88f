// The environment as a source of configuration: ADAGP_OPTIM_LR for "optim.lr".

#include "adagp/base/core/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "adagp/base/core/binding.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::core {
namespace {

constexpr std::string_view kPrefix = "ADAGP_";
// Of the build, the tests and the processes of a run.
constexpr std::array<std::string_view, 8> kOtherVariables{
    "ADAGP_BIN",    "ADAGP_CUDA",      "ADAGP_DEPS_DIR",      "ADAGP_KERNELS",
    "ADAGP_PYTHON", "ADAGP_TORCH_DIR", "ADAGP_TORCH_VERSION", "ADAGP_STORE_FILE"};

std::vector<std::string> variables_of_process() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

}  // namespace

std::string environment_name(const std::string& key) {
  std::string name(kPrefix);
  for (const char c : key) {
    name +=
        c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

void Binding::load_environment() {
  for (const auto& field : fields_) {
    const std::string name = environment_name(field.key);
    if (const char* value = std::getenv(name.c_str())) set(field.key, value, name);
  }
  for (const auto& warning : misspelt(variables_of_process())) log_warning(warning);
}

std::vector<std::string> Binding::misspelt(const std::vector<std::string>& variables) const {
  std::vector<std::string> known;  // without the prefix: it would make everything look alike
  for (const auto& field : fields_) {
    known.push_back(environment_name(field.key).substr(kPrefix.size()));
  }
  std::vector<std::string> warnings;
  for (const auto& variable : variables) {
    if (!variable.starts_with(kPrefix) || std::count(kOtherVariables.begin(), kOtherVariables.end(),
                                                     std::string_view(variable)) > 0) {
      continue;
    }
    const std::string name = variable.substr(kPrefix.size());
    if (std::count(known.begin(), known.end(), name) > 0) continue;
    const std::string near = closest(name, known);
    warnings.push_back(cat(
        "environment: ", variable, " is no key and changes nothing; ",
        near.empty() ? document_ + " lists the keys" : cat("did you mean ", kPrefix, near, "?")));
  }
  return warnings;
}

}  // namespace adagp::core
