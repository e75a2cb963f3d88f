#pragma once
// Non-maximum suppression: of boxes that mean the same object, the surest one. No torch here.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "adagp/base/core/box.h"

namespace adagp::metrics {

struct ScoredBox {
  core::Box box;
  int64_t label = 0;
  double score = 0;
};

// Positions of the boxes that stay, surest first (of equals the one that came first), at most
// `most`. A box goes when one of its own class that stays overlaps it by more than `overlap` (IoU).
std::vector<size_t> nms(const std::vector<ScoredBox>& boxes, double overlap,
                        size_t most = static_cast<size_t>(-1));

}  // namespace adagp::metrics
