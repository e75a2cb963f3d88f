// Convolutions of one to three axes, plain and transposed.

#include "adagp/sim/layers/exported_rows.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::layers {
namespace {

// Numbers of a convolution's axes as those of depth, height and width: those that it lacks are 1
// (a padding 0). One number may stand for all axes.
std::array<int64_t, 3> on_three_axes(const std::vector<int64_t>& given, size_t axes,
                                     int64_t neutral) {
  std::array<int64_t, 3> out{neutral, neutral, neutral};
  for (size_t i = 0; i < axes; ++i) out[3 - axes + i] = given.at(given.size() == 1 ? 0 : i);
  return out;
}

std::vector<int64_t> tail(const Value& v, size_t axes) {
  return {v.sizes.end() - static_cast<std::ptrdiff_t>(axes), v.sizes.end()};
}

}  // namespace

bool RowReader::convolution(const Node& node) {
  const Value* input = operand(node, "input");
  const Value* weight = operand(node, "weight");
  if (input == nullptr || weight == nullptr || weight->activation) return false;
  const Value& output = result(node);
  const int64_t dims = weight->dim() - 2;
  if (dims < 1 || dims > 3 || (input->dim() != dims + 2 && input->dim() != dims + 1)) return false;
  if (output.dim() != input->dim()) return false;
  const bool transposed = node.flag("transposed") || node.op.starts_with("conv_transpose");
  const auto axes = static_cast<size_t>(dims);
  const bool alone = input->dim() == dims + 1;  // one image, without a batch
  const int64_t images = alone ? 1 : input->size(0);
  if (images < 1) return false;
  if (images == 1 && batch_ > 1 && output.activation) unbatched = true;

  const auto in = on_three_axes(tail(*input, axes), axes, 1);
  const auto out = on_three_axes(tail(output, axes), axes, 1);
  const auto kernel = on_three_axes(tail(*weight, axes), axes, 1);
  const auto stride = on_three_axes(node.ints("stride", {1}), axes, 1);
  const auto dilation = on_three_axes(node.ints("dilation", {1}), axes, 1);
  auto padding = on_three_axes(node.ints("padding", {0}), axes, 0);
  if (node.text("padding") == "same") {
    for (size_t i = 3 - axes; i < 3; ++i)
      padding[i] = sum_of(product_of({dilation[i], kernel[i] - 1}), 1) / 2;
  }
  Row row;
  row.groups = node.integer("groups", 1);
  row.input = {input->size(alone ? 0 : 1), in[1], in[2]};
  row.output = {output.size(alone ? 0 : 1), out[1], out[2]};
  if (row.groups < 1 || row.input[0] % row.groups != 0) return false;
  row.op = transposed ? "conv_transpose" : axes == 3 ? "conv3d" : "conv2d";
  row.kernel = {kernel[1], kernel[2]};
  row.stride = {stride[1], stride[2]};
  row.padding = {padding[1], padding[2]};
  row.dilation = {dilation[1], dilation[2]};
  row.depth = {in[0], out[0], kernel[0], stride[0], padding[0], dilation[0]};
  const Value* bias = operand(node, "bias");
  row.bias = bias == nullptr ? 0 : bias->elements();

  if (images % batch_ != 0 || !output.activation) {
    complete(row);
    once_a_batch(node, product_of({row.macs, images}));
    return true;
  }
  int64_t rows_of_it = images / batch_;  // of one example
  if (axes < 3) {                        // several images are slices that a kernel does not join
    row.depth.input = row.depth.output = rows_of_it;
    if (rows_of_it > 1 && !transposed) row.op = "conv3d";
    rows_of_it = 1;
  }
  for (int64_t i = 0; i < rows_of_it; ++i) {
    row.name = layer_name(*weight);
    add(row);
  }
  return true;
}

}  // namespace adagp::layers
