#include "adagp/engine/metrics/nms.h"

#include <algorithm>
#include <numeric>

namespace adagp::metrics {

std::vector<size_t> nms(const std::vector<ScoredBox>& boxes, double overlap, size_t most) {
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return boxes[a].score > boxes[b].score; });
  std::vector<size_t> kept;
  for (const size_t i : order) {
    if (kept.size() >= most) break;
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](size_t k) {
      return boxes[k].label == boxes[i].label && core::iou(boxes[k].box, boxes[i].box) > overlap;
    });
    if (!hidden) kept.push_back(i);
  }
  return kept;
}

}  // namespace adagp::metrics
