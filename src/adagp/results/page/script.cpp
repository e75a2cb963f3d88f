// The script as pages have it: smaller, because every report carries it.

#include "adagp/base/core/text.h"
#include "adagp/results/page/assets.h"
#include "adagp/results/page/parts.h"

namespace adagp::page {

std::string page_script() {
  std::string out;
  for (const std::string& line : core::split(scripts().front().text, '\n')) {
    std::string text = core::trim(line);
    if (text.empty() || text.starts_with("//")) continue;
    for (const std::string_view token : {"=>", "=", "===", "!==", "+", "-", "*", "/", "?", ":",
                                         "&&", "||", "<", ">", ">=", "<="}) {
      const std::string spaced = " " + std::string(token) + " ";
      for (size_t at; (at = text.find(spaced)) != std::string::npos;) {
        text.replace(at, spaced.size(), token);
      }
    }
    out += text + "\n";
  }
  return out;
}

}  // namespace adagp::page
