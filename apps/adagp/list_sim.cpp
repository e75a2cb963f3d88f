// adagp list of the program without LibTorch: what is embedded in it.

#include "adagp/base/core/text.h"
#include "adagp/sim/zoo/zoo.h"
#include "named.h"

namespace adagp::apps {

std::vector<ListKind> own_kinds() {
  return {{"models", [] {
             NamedLines lines;
             for (const auto& name : zoo::models()) {
               lines.emplace_back(name, "inputs " + core::join(zoo::inputs(name), ", "));
             }
             return lines;
           }}};
}

std::string about_missing_kinds() {
  return " (this program was built without LibTorch)";
}

}  // namespace adagp::apps
