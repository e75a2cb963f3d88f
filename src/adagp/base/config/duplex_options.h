#pragma once
// Sizes of network `duplex`; `model.*` keys of a recipe. No torch here.

#include <cstdint>
#include <string>

namespace adagp::models {

struct DuplexOptions {
  std::string backbone = "resnet18";  // a classifier of the zoo
  int64_t blocks = 6;                 // reversible blocks of the branch
  int64_t width = 128;                // its channels, of both halves together
  int64_t side = 8;                   // of its maps: the backbone's are pooled to it
};

}  // namespace adagp::models
