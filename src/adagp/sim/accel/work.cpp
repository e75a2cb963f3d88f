#include "adagp/sim/accel/work.h"

#include <algorithm>
#include <string>

#include "adagp/base/core/text.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::accel {
namespace {

[[noreturn]] void reject_row(const layers::Row& row, const std::string& what) {
  throw DataError("layer '" + row.name + "': " + what);
}

void check_axis(const layers::Axis& axis, SizeRule rule) {
  const int64_t expected = output_size(rule, axis.input, axis.span(), axis.stride, axis.padding);
  // Padding to the input's own size is uneven for windows of even span: one point less.
  const bool uneven = rule == SizeRule::kFloor && axis.stride == 1 && axis.padding > 0 &&
                      axis.span() % 2 == 0 && axis.output == expected - 1;
  if (axis.output == expected || uneven) return;
  const char* side = axis.name[0] == 'd' ? "depth" : axis.name[0] == 'h' ? "height" : "width";
  throw DataError(
      core::cat("output ", side, " is ", axis.output, ", but input ", axis.input, ", filter ",
                axis.kernel, axis.dilation > 1 ? core::cat(", dilation ", axis.dilation) : "",
                ", stride ", axis.stride, " and padding ", axis.padding, " give ", expected));
}

void check_row(const layers::Row& row, int64_t batch, SizeRule rule) {
  const auto positive = [&](const char* what, int64_t value) {
    if (value < 1) reject_row(row, core::cat(what, " is ", value, ", expected at least 1"));
  };
  positive("batch", batch);
  positive("groups", row.groups);
  const char* sides[] = {"channels", "height", "width"};
  for (size_t i = 0; i < 3; ++i) {
    positive((std::string("input ") + sides[i]).c_str(), row.input[i]);
    positive((std::string("output ") + sides[i]).c_str(), row.output[i]);
  }
  if (row.input[0] % row.groups != 0 || row.output[0] % row.groups != 0) {
    reject_row(row, core::cat("groups ", row.groups, " do not divide the channels ", row.input[0],
                              " and ", row.output[0]));
  }
  try {
    if (row.op == "conv_transpose") {
      for (const layers::Axis& axis : layers::axes_of(row)) {
        if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1 || axis.padding < 0) {
          throw DataError("kernel, stride and dilation must be at least 1, the padding 0 or more");
        }
      }
      const std::string error = layers::shape_error(row);
      if (!error.empty()) throw DataError(error);
      return;
    }
    for (const layers::Axis& axis : layers::axes_of(row)) check_axis(axis, rule);
  } catch (const DataError& e) {
    reject_row(row, e.what());
  }
}

// Every example and head is a product of its own: both operands are activations.
Work matmul_work(const layers::Row& row, int64_t batch) {
  Work work;
  work.groups = mul(batch, row.groups);
  work.gemm = {mul(row.output[1], row.output[2]), row.input[0] / row.groups,
               row.output[0] / row.groups};
  work.conv.channels = work.gemm.k;
  work.conv.filters = work.gemm.n;
  work.conv.out_w = work.conv.in_w = work.gemm.m;
  work.tensors = {mul(work.groups, work.gemm.m, work.gemm.k),
                  mul(work.groups, work.gemm.k, work.gemm.n),
                  mul(work.groups, work.gemm.m, work.gemm.n)};
  return work;
}

// Depth becomes more images of more channels: every output slice is a plain convolution of
// channels x kernel depth.
Work layer_work(const layers::Row& row, int64_t batch) {
  const layers::Axis height = layers::axes_of(row)[1];
  Work work;
  work.groups = row.groups;
  Conv& conv = work.conv;
  conv.batch = mul(batch, row.depth.output);
  conv.channels = mul(row.input[0] / row.groups, row.depth.kernel);
  conv.filters = row.output[0] / row.groups;
  conv.in_h = row.input[1];
  conv.in_w = row.input[2];
  conv.out_h = row.output[1];
  conv.out_w = row.output[2];
  conv.filter_h = row.kernel[0];
  conv.filter_w = row.kernel[1];
  conv.halo = std::max<int64_t>(0, height.span() - height.stride);
  work.gemm = {mul(conv.batch, conv.out_h, conv.out_w),
               mul(conv.filter_h, conv.filter_w, conv.channels), conv.filters};
  work.tensors = {mul(batch, row.input[0], layers::pixels_in(row)),
                  mul(row.groups, work.gemm.k, work.gemm.n), mul(row.output[0], work.gemm.m)};
  return work;
}

// The convolution of which a transposed one is the input gradient: from its output to its input.
layers::Row mirrored(layers::Row row) {
  row.op = "conv3d";
  std::swap(row.input, row.output);
  std::swap(row.depth.input, row.depth.output);
  return row;
}

Work transposed_work(const layers::Row& row, int64_t batch) {
  const layers::Row mirror = mirrored(row);
  Work work = input_gradient_work(layer_work(mirror, batch), mirror);
  work.pass = Pass::kForward;
  return work;
}

}  // namespace

int64_t macs(const Work& work) {
  return mul(work.groups, work.gemm.m, work.gemm.k, work.gemm.n);
}

int64_t output_size(SizeRule rule, int64_t in, int64_t filter, int64_t stride, int64_t padding) {
  if (in < 1 || filter < 1 || stride < 1 || padding < 0) {
    throw DataError(core::cat("input ", in, ", filter ", filter, ", stride ", stride, ", padding ",
                              padding, ": all but the padding must be at least 1, that 0"));
  }
  const int64_t padded = rule == SizeRule::kFloor ? add(in, mul(2, padding)) : in;
  if (filter > padded) {
    throw DataError(core::cat("filter ", filter, " is larger than the padded input ", padded));
  }
  const int64_t steps = padded - filter;
  return add(rule == SizeRule::kFloor ? steps / stride : ceil_div(steps, stride), 1);
}

Work forward_work(const layers::Row& row, int64_t batch, SizeRule rule) {
  check_row(row, batch, rule);
  try {
    Work work = row.op == "matmul"           ? matmul_work(row, batch)
                : row.op == "conv_transpose" ? transposed_work(row, batch)
                                             : layer_work(row, batch);
    macs(work);  // the largest product of them
    return work;
  } catch (const Overflow& e) {
    reject_row(row, e.what());
  }
}

Work input_gradient_work(const Work& forward, const layers::Row& row) {
  Work work = forward;
  work.pass = Pass::kInputGradient;
  work.gemm = {forward.gemm.m, forward.gemm.n, forward.gemm.k};
  work.tensors = {forward.tensors.output, forward.tensors.filter, forward.tensors.input};
  const Conv& f = forward.conv;
  const layers::Axis height = layers::axes_of(row)[1];
  work.conv.channels = f.filters;
  work.conv.filters = f.channels;
  work.conv.out_h = f.in_h;
  work.conv.out_w = f.in_w;
  work.conv.in_h = f.out_h;
  work.conv.in_w = f.out_w;
  // A strided layer's gradient is spread out with zeros that are not read; that of a transposed
  // layer is a plain convolution.
  work.conv.halo = row.op == "conv_transpose" ? std::max<int64_t>(0, height.span() - height.stride)
                                              : ceil_div(height.span() - 1, height.stride);
  return work;
}

Work weight_gradient_work(const Work& forward, const layers::Row& row) {
  Work work = forward;
  work.pass = Pass::kWeightGradient;
  work.gemm = {forward.gemm.k, forward.gemm.m, forward.gemm.n};
  work.tensors = {forward.tensors.input, forward.tensors.output, forward.tensors.filter};
  // Of a transposed layer the gradient of the output slides over the input.
  const Conv f = row.op == "conv_transpose" ? input_gradient_work(forward, row).conv : forward.conv;
  work.conv.batch = f.channels;
  work.conv.channels = f.batch;
  work.conv.out_h = f.filter_h;
  work.conv.out_w = f.filter_w;
  work.conv.filter_h = f.out_h;
  work.conv.filter_w = f.out_w;
  work.conv.in_h = f.in_h;
  work.conv.in_w = f.in_w;
  work.conv.filters = f.filters;
  work.conv.halo = std::min(f.in_h, mul(f.out_h - 1, row.stride[0]));
  return work;
}

Work gemm_work(const Gemm& gemm, Pass pass) {
  layers::Row row;
  row.name = "gemm";
  row.op = "linear";
  row.input = {gemm.k, 1, gemm.m};
  row.output = {gemm.n, 1, gemm.m};
  Work work = forward_work(row, 1);
  work.pass = pass;
  return work;
}

}  // namespace adagp::accel
