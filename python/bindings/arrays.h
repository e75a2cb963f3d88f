#pragma once
// Columns of numbers as numpy arrays, without a copy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace adagp::python {

// By name: arrays, or texts.
using Columns = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;

// The array owns the vector.
template <typename Number>
nanobind::object to_array(std::vector<Number>&& numbers) {
  auto* owned = new std::vector<Number>(std::move(numbers));
  const nanobind::capsule owner(
      owned, [](void* data) noexcept { delete static_cast<std::vector<Number>*>(data); });
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, Number, nanobind::ndim<1>>(
      owned->data(), {owned->size()}, owner));
}

}  // namespace adagp::python
