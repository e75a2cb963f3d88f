#pragma once
// A map whose channels come from several branches: the concat at the end of an Inception block.
//
// With our kernels a branch that ends in a norm writes its result where the concat would copy it,
// and the norm's backward pass reads its gradient out of the whole map's. Elsewhere it is exactly a
// concat.

#include <vector>

#include <torch/types.h>

namespace adagp::nn {

// For one forward pass.
class JoinedMap {
 public:
  explicit JoinedMap(int64_t channels) : channels_(channels) {}

  // Memory for a part of the map from channel `first` on: a pitched view with the shape of `like`,
  // which is on a GPU our kernels run on.
  at::Tensor place(int64_t first, const at::Tensor& like);

  // The concat of parts, the first of which begins at channel `first`. Parts that are not in their
  // place are copied there, once there is a place for any of them.
  at::Tensor join(int64_t first, const std::vector<at::Tensor>& parts);

 private:
  int64_t channels_;
  at::Tensor whole_;  // [B, channels, H, W]; undefined until a part has a place
};

// Where a result belongs; no map: wherever it likes.
struct MapPlace {
  JoinedMap* map = nullptr;
  int64_t first_channel = 0;
};

}  // namespace adagp::nn
