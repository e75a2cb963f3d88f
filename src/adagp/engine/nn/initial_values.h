#pragma once
// The first values of parameters, in a process that may have those of its own part of the network
// alone.

#include <cstddef>
#include <set>
#include <vector>

#include <torch/types.h>

namespace adagp::nn {

// Fill a new parameter from the CPU's default generator. For one whose values are elsewhere the
// same numbers are drawn and forgotten: those after it get the values that they always get.
void draw_uniform(at::Tensor& parameter, double low, double high);
void draw_normal(at::Tensor& parameter, double mean, double deviation);

// A network makes its tensors in the same order each time, so that a tensor has a number before it
// has a name. Both of these follow make_tensor() (layer.h) in this thread while they live; one may
// live at a time.

class NumberedTensors {
 public:
  NumberedTensors();
  ~NumberedTensors();
  NumberedTensors(const NumberedTensors&) = delete;
  NumberedTensors& operator=(const NumberedTensors&) = delete;

  const std::vector<at::Tensor>& all() const { return all_; }

 private:
  friend at::Tensor make_tensor(at::IntArrayRef shape, at::TensorOptions options);
  std::vector<at::Tensor> all_;
};

// The tensors of these numbers are made without values.
class WithoutValues {
 public:
  explicit WithoutValues(std::set<size_t> numbers);
  ~WithoutValues();
  WithoutValues(const WithoutValues&) = delete;
  WithoutValues& operator=(const WithoutValues&) = delete;

 private:
  friend at::Tensor make_tensor(at::IntArrayRef shape, at::TensorOptions options);
  std::set<size_t> numbers_;
  size_t next_ = 0;
};

}  // namespace adagp::nn
