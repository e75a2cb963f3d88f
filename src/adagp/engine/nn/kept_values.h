#pragma once
// What becomes of values that are kept for the backward pass, for experiments with memories that
// change them.

#include <ATen/core/Tensor.h>

namespace adagp::nn {

class KeptValues {
 public:
  virtual ~KeptValues() = default;
  // What the backward pass will find in place of x, which is dense.
  virtual at::Tensor keep(const at::Tensor& x) = 0;
};

// While one is alive, graphs that this thread makes keep what `values` says. Null: as without one.
class KeptValuesScope {
 public:
  explicit KeptValuesScope(KeptValues* values);
  ~KeptValuesScope();
  KeptValuesScope(const KeptValuesScope&) = delete;
  KeptValuesScope& operator=(const KeptValuesScope&) = delete;

 private:
  KeptValues* previous_;
};
// Of this thread, or null; null without autograd, where nothing is kept.
KeptValues* kept_values();

}  // namespace adagp::nn
