#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "adagp/gpu/cuda/bf16.h"
#include "adagp/gpu/cuda/optim/dropback.h"

namespace adagp::cuda {
namespace {

struct Fallback {
  float value, distance;
};

// Never inlined: a compiler that contracts products and sums must do so in both passes alike.
[[gnu::noinline]] Fallback fallback(float weight, float first, float scale) {
  const float value = scale * first;
  const float distance = std::fabs(weight - value);
  return {value, distance < std::numeric_limits<float>::min() ? 0 : distance};
}

}  // namespace

void reference::drop_threshold(const DropArgs& args) {
  std::vector<float> distances;
  for (const ParamSlot* slot = args.slots; slot != args.slots + args.count; ++slot) {
    for (int64_t i = 0; i < slot->count; ++i) {
      const float found = fallback(slot->weight[i], slot->first[i], *args.scale).distance;
      // A NaN is the largest: it must have a place in the order.
      distances.push_back(std::isnan(found) ? std::numeric_limits<float>::infinity() : found);
    }
  }
  if (args.keep >= static_cast<int64_t>(distances.size())) {
    *args.threshold = -1;
    return;
  }
  const auto place = distances.begin() + args.keep;
  std::nth_element(distances.begin(), place, distances.end(), std::greater<>());
  *args.threshold = *place;
}

void reference::drop_apply(const DropArgs& args) {
  const float least = args.least == nullptr ? *args.threshold : *args.least;
  const float threshold = std::max(*args.threshold, least);
  for (const ParamSlot* slot = args.slots; slot != args.slots + args.count; ++slot) {
    for (int64_t i = 0; i < slot->count; ++i) {
      const Fallback found = fallback(slot->weight[i], slot->first[i], *args.scale);
      if (found.distance <= threshold) {
        slot->weight[i] = found.value;
      } else if (args.kept != nullptr) {
        ++*args.kept;
      }
      if (slot->low != nullptr) {
        static_cast<uint16_t*>(slot->low)[i] = float_to_bf16(slot->weight[i]);
      }
    }
  }
}

}  // namespace adagp::cuda
