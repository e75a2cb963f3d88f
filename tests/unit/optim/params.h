#pragma once
// Parameters and gradients shared by the optimizer tests.

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/optim/optimizer.h"

namespace adagp::optim {

// contiguous(ChannelsLast) leaves a tensor of ambiguous strides as it is; this one has the strides
// channels-last activations give to a weight.
inline at::Tensor channels_last(at::IntArrayRef sizes, at::Device device = at::kCPU) {
  return at::empty(sizes, at::TensorOptions().device(device), at::MemoryFormat::ChannelsLast)
      .normal_();
}

// Shapes that meet every path: vector tails, size-1 dimensions, channels-last, more elements than
// ATen keeps on one thread (32 768).
inline std::vector<Param> random_params(at::Device device = at::kCPU) {
  at::manual_seed(7);
  const auto options = at::TensorOptions().device(device);
  std::vector<Param> out{
      {"conv.weight", channels_last({8, 5, 3, 3}, device)},
      {"plain.weight", at::randn({6, 4, 3, 3}, options)},
      {"point.weight", channels_last({7, 9, 1, 1}, device)},
      {"depth.weight", channels_last({10, 1, 3, 3}, device)},
      {"bias", at::randn({13}, options)},
      {"fc.weight", at::randn({300, 201}, options)},
  };
  for (auto& param : out) param.value.requires_grad_();
  return out;
}

inline std::vector<Param> cloned(const std::vector<Param>& params) {
  std::vector<Param> out;
  for (const auto& param : params) {
    out.push_back({param.name, param.value.detach().clone().requires_grad_()});
  }
  return out;
}

inline std::vector<at::Tensor> values_of(const std::vector<Param>& params) {
  std::vector<at::Tensor> out;
  for (const auto& param : params) out.push_back(param.value);
  return out;
}

inline void set_random_gradients(const std::vector<Param>& params) {
  for (const auto& param : params) {
    at::Tensor value = param.value;
    value.mutable_grad() = at::randn_like(value.detach());
  }
}

inline void copy_gradients(const std::vector<Param>& from, const std::vector<Param>& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    at::Tensor value = to[i].value;
    const at::Tensor gradient = from[i].value.grad();
    value.mutable_grad() = gradient.defined() ? gradient.clone() : at::Tensor();
  }
}

inline void expect_equal_bits(const std::vector<Param>& a, const std::vector<Param>& b) {
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].value.equal(b[i].value)) << a[i].name;
}

// In norm, relative: an update of the wrong elements would be many orders of magnitude above.
inline void expect_close(const std::vector<Param>& a, const std::vector<Param>& b,
                         double tolerance) {
  for (size_t i = 0; i < a.size(); ++i) {
    const double apart = ((a[i].value - b[i].value).norm() / a[i].value.norm()).item<double>();
    EXPECT_LE(apart, tolerance) << a[i].name;
  }
}

}  // namespace adagp::optim
