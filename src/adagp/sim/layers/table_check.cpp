#include "adagp/sim/layers/table_check.h"

#include <algorithm>

#include "adagp/base/core/text.h"

namespace adagp::layers {
namespace {

std::string window_error(const Axis& axis) {
  const int64_t padded = sum_of(axis.input, product_of({2, axis.padding}));
  if (axis.span() > padded) {
    return core::cat("kernel_", axis.name, " is ", axis.kernel,
                     axis.dilation > 1 ? core::cat(" with dilation ", axis.dilation) : "",
                     ", more than the padded input's ", padded);
  }
  const int64_t most = (padded - axis.span()) / axis.stride + 1;
  if (axis.output <= most) return "";
  return core::cat("out_", axis.name, " is ", axis.output,
                   ", but input, kernel, stride and padding give at most ", most);
}

// What padding does not take away, and what output_padding adds at most.
std::string transposed_error(const Axis& axis) {
  const int64_t reach = sum_of(product_of({axis.input - 1, axis.stride}), axis.span());
  const int64_t least = sum_of(reach, -product_of({2, axis.padding}));
  const int64_t most = sum_of(least, std::max(axis.stride, axis.dilation) - 1);
  if (axis.output >= least && axis.output <= most) return "";
  return core::cat("out_", axis.name, " is ", axis.output,
                   ", but input, kernel, stride and padding of a conv_transpose give ", least,
                   most > least ? core::cat(" to ", most) : "");
}

std::string convolution_error(const Row& row) {
  if (row.op == "conv2d" && row.depth != Depth{}) {
    return "a conv2d has no depth; its in_d, out_d, kernel_d, stride_d and dilation_d are 1";
  }
  for (const Axis& axis : axes_of(row)) {
    const std::string error =
        row.op == "conv_transpose" ? transposed_error(axis) : window_error(axis);
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace

int64_t Axis::span() const {
  return sum_of(product_of({dilation, kernel - 1}), 1);
}

std::array<Axis, 3> axes_of(const Row& row) {
  const Depth& d = row.depth;
  std::array<Axis, 3> axes{Axis{"d", d.input, d.output, d.kernel, d.stride, d.padding, d.dilation}};
  for (size_t i = 0; i < 2; ++i) {
    axes[i + 1] = {i == 0 ? "h" : "w", row.input[i + 1], row.output[i + 1], row.kernel[i],
                   row.stride[i],      row.padding[i],   row.dilation[i]};
  }
  return axes;
}

std::string shape_error(const Row& row) {
  if (!is_product(row)) return "";
  if (row.input[0] % row.groups != 0 || row.output[0] % row.groups != 0) {
    return core::cat("groups ", row.groups, " do not divide the channels ", row.input[0], " and ",
                     row.output[0]);
  }
  if (is_convolution(row)) return convolution_error(row);
  if (row.input[1] != row.output[1] || row.input[2] != row.output[2] || row.depth != Depth{} ||
      row.kernel != decltype(row.kernel){1, 1}) {
    return row.op + ": input and output must have the same positions, and the kernel 1x1";
  }
  return "";
}

}  // namespace adagp::layers
