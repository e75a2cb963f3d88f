#pragma once
// Weights that fall back to a multiple of their first values, but for those farthest from it
// (DropBack, arXiv 1806.06949).

#include "adagp/gpu/cuda/optim/optim.h"

namespace adagp::cuda {

// Of each slot `weight`, `low` (or null), `count` are used, and `first`: the value that the weight
// falls back to when multiplied by *scale. A NaN there: the weight never falls back.
//
// The distance of a weight is |weight - *scale * first|, and 0 below 2^-126.
struct DropArgs {
  const ParamSlot* slots = nullptr;
  int64_t count = 0;
  const float* scale = nullptr;  // [1], on the device
  int64_t keep = 0;              // how many may stay where they are
  float* threshold = nullptr;    // [1]
  const float* least = nullptr;  // [1]: the threshold is never below; null: 0
  int64_t* kept = nullptr;       // [1], += weights that did not fall back; or null
  void* workspace = nullptr;     // drop_workspace() bytes, zeroed once
};
int64_t drop_workspace();

// *threshold = the (keep + 1)-th largest distance of all slots together; -1 when there are no more
// than `keep` weights.
void drop_threshold(const DropArgs& args, Stream stream);
// Weights whose distance is at most the threshold fall back; their copies follow.
void drop_apply(const DropArgs& args, Stream stream);

namespace reference {
void drop_threshold(const DropArgs& args);
void drop_apply(const DropArgs& args);
}  // namespace reference

}  // namespace adagp::cuda
