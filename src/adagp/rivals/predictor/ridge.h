#pragma once
// Linear least squares that forgets: targets by features, one small system for all targets.
//
//   A = sum of f^T f,  B_t = sum of f^T y_t, both multiplied by `decay` before every batch
//   y_t ~ f (A + ridge diag(A))^-1 B_t
//
// The ridge is relative to each feature's own size, so that units do not matter. Memory: features x
// width numbers for every target.

#include <map>
#include <string>
#include <vector>

#include <torch/types.h>

namespace adagp::predictor {

// Of a symmetric positive definite matrix, by Gauss-Jordan steps: the solvers of a GPU's libraries
// wait for the device, which a recorded step must not.
at::Tensor inverse_of(const at::Tensor& matrix);

class Ridge {
 public:
  // `names`: of the targets, for the saved state.
  Ridge(std::vector<std::string> names, int64_t features, double decay, double ridge,
        at::TensorOptions options);

  // One batch of samples: first the targets' values [n, width] by the features [n, k], then the
  // features themselves. Returns their f^T y.
  at::Tensor observe(size_t target, const at::Tensor& features, const at::Tensor& values);
  void observe(const at::Tensor& features);

  // f (A + ...)^-1, [n, k]: times cross() it is the fitted value. Zero before the first batch.
  at::Tensor coefficients(const at::Tensor& features) const;
  const at::Tensor& cross(size_t target, int64_t width);  // B_t, [k, width]
  // (A + ...)^-1 B_t, [k, width].
  at::Tensor fitted(size_t target, int64_t width);

  std::map<std::string, at::Tensor> state() const;
  // Throws DataError for what is missing or of another size.
  void load_state(const std::map<std::string, at::Tensor>& state);
  int64_t count() const;  // numbers kept

 private:
  std::vector<std::string> names_;
  double decay_, ridge_;
  at::TensorOptions options_;
  at::ScalarType dtype_;           // of what is kept by target
  at::Tensor gram_, inverse_;      // double [k, k]
  std::vector<at::Tensor> cross_;  // [k, width], undefined until a batch told the width
};

}  // namespace adagp::predictor
