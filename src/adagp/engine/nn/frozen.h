#pragma once
// Parts of a network that never move.

#include <torch/types.h>

namespace adagp::nn {

// While one is alive, what runs in this thread makes no graph, and whoever counts work knows that
// it runs forward alone.
class FrozenScope {
 public:
  FrozenScope();
  ~FrozenScope();
  FrozenScope(const FrozenScope&) = delete;
  FrozenScope& operator=(const FrozenScope&) = delete;
  static bool active();

 private:
  at::NoGradGuard no_grad_;
};

}  // namespace adagp::nn
