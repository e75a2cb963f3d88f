// Sizes of convolutions, pools and resized images.
#include <algorithm>
#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/onnx/names.h"
#include "adagp/sim/layers/onnx/shapes.h"
#include "adagp/sim/layers/table_check.h"
#include "adagp/sim/layers/word_set.h"

namespace adagp::layers {
namespace {

Sizes image_sizes(const Sizes& sizes) {
  return {sizes.begin() + 2, sizes.end()};
}

int64_t reach(int64_t kernel, int64_t dilation) {  // points from the first to the last
  return sum_of(product_of({dilation, kernel - 1}), 1);
}

Sizes positive(const OnnxCall& call, const std::string& name, size_t count) {
  Sizes out = call.integers(name, count, 1);
  for (const int64_t number : out) {
    if (number < 1) does_not_fit(core::cat(name, " is ", number, ", expected 1 or more"));
  }
  return out;
}

void windows(OnnxCall& call, int64_t channels, const Sizes& kernel) {
  const Sizes& input = *call.sizes(0);
  const size_t axes = kernel.size();
  if (input.size() != axes + 2) does_not_fit("kernel and input have other numbers of axes");
  const Sizes stride = positive(call, "strides", axes),
              dilation = positive(call, "dilations", axes);
  const auto padding = paddings(call, image_sizes(input), kernel, stride, dilation);
  Sizes out{input[0], channels};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t before = sum_of(input[i + 2], padding[i].before);
    const int64_t room = sum_of(before, padding[i].behind) - reach(kernel[i], dilation[i]);
    if (room < 0) does_not_fit("the kernel is larger than its input");
    int64_t size = room / stride[i] + 1;
    // A last window that is cut off counts if it starts before the padding behind the input.
    const bool cut = call.integer("ceil_mode", 0) != 0 && room % stride[i] != 0;
    if (cut && product_of({size, stride[i]}) < before) ++size;
    out.push_back(size);
  }
  call.give(out);
  if (call.outputs.size() > 1) call.give(out, 1);  // indices of maxima
}

Sizes kernel_of(const Sizes& weight, const Sizes& input) {
  if (weight.size() != input.size() || weight.size() < 3) {
    does_not_fit(
        core::cat("a weight of ", weight.size(), " dimensions for an input of ", input.size()));
  }
  Sizes kernel = image_sizes(weight);
  if (*std::min_element(weight.begin(), weight.end()) < 1) does_not_fit("its weight is empty");
  return kernel;
}

int64_t groups_of(const OnnxCall& call, int64_t channels) {
  const int64_t groups = call.integer("group", 1);
  if (groups < 1 || channels % groups != 0) {
    does_not_fit(core::cat(groups, " groups of ", channels, " channels"));
  }
  return groups;
}

void convolution(OnnxCall& call) {
  const OnnxPlaces places = places_of(call.node.op);
  const Sizes* input = call.sizes(0, 3);
  const Sizes* weight = call.sizes(places.weight);
  if (input == nullptr || weight == nullptr) return;
  const Sizes kernel = kernel_of(*weight, *input);
  const int64_t groups = groups_of(call, (*weight)[0]);
  if (product_of({(*weight)[1], groups}) != (*input)[1]) {
    does_not_fit(core::cat((*input)[1], " channels for a weight of ", (*weight)[1], " in ", groups,
                           groups == 1 ? " group" : " groups"));
  }
  windows(call, (*weight)[0], kernel);
}

// Sizes of what a ConvTranspose gives before padding cuts it.
Sizes uncut(const OnnxCall& call, const Sizes& kernel, const Sizes& stride, const Sizes& dilation) {
  const Sizes& input = *call.sizes(0);
  const Sizes more = call.integers("output_padding", kernel.size(), 0);
  Sizes out;
  for (size_t i = 0; i < kernel.size(); ++i) {
    out.push_back(sum_of(product_of({stride[i], input[i + 2] - 1}),
                         sum_of(reach(kernel[i], dilation[i]), more[i])));
  }
  return out;
}

void transposed(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 3);
  const Sizes* weight = call.sizes(1);
  if (input == nullptr || weight == nullptr) return;
  const Sizes kernel = kernel_of(*weight, *input);
  const int64_t groups = groups_of(call, (*weight)[0]);
  if ((*weight)[0] != (*input)[1]) does_not_fit("input and weight have other numbers of channels");
  const size_t axes = kernel.size();
  const Sizes stride = positive(call, "strides", axes),
              dilation = positive(call, "dilations", axes);
  const Sizes told = call.integers("output_shape", axes, 0);
  const Sizes pads = call.integers("pads", 2 * axes, 0);
  const bool same = call.text("auto_pad").starts_with("SAME");
  const Sizes full = uncut(call, kernel, stride, dilation);
  Sizes out{(*input)[0], product_of({(*weight)[1], groups})};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = (*input)[i + 2];
    const int64_t cut = sum_of(full[i], -sum_of(pads[i], pads[i + axes]));
    out.push_back(told[i] > 0 ? told[i] : same ? product_of({stride[i], size}) : cut);
    if (out.back() < 1) does_not_fit("its output is empty");
  }
  call.give(out);
}

void deformable(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 3);
  const Sizes* weight = call.sizes(1);
  if (input != nullptr && weight != nullptr) {
    windows(call, (*weight)[0], kernel_of(*weight, *input));
  }
}

void pool(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 3);
  const OnnxAttribute* kernel = call.attribute("kernel_shape");
  if (input == nullptr || kernel == nullptr) return;
  windows(call, (*input)[1], positive(call, "kernel_shape", input->size() - 2));
}

void global_pool(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 3);
  if (input == nullptr) return;
  Sizes out(input->size(), 1);
  std::copy(input->begin(), input->begin() + 2, out.begin());
  call.give(out);
}

// Sizes as told, or those of the input times a factor each, rounded down.
void resize(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  if (input == nullptr) return;
  const auto axes = call.list(kNoOperand, "axes");
  const auto put = [&](const auto& number, size_t count, const auto& size_of) {
    Sizes out = *input;
    if (count != (axes ? axes->size() : out.size())) does_not_fit("not a size for each axis");
    for (size_t i = 0; i < count; ++i) {
      const size_t axis = axes ? axis_of((*axes)[i], out.size()) : i;
      out[axis] = size_of(number(i), (*input)[axis]);
      if (out[axis] < 1) does_not_fit("its output is empty");
    }
    call.give(out);
  };
  const bool keeps_shape = !call.text("keep_aspect_ratio_policy").empty() &&
                           call.text("keep_aspect_ratio_policy") != "stretch";
  if (const Numbers* told = call.numbers(3); told != nullptr && !told->values.empty()) {
    if (keeps_shape) return;
    put([&](size_t i) { return told->values[i]; }, told->values.size(),
        [](double number, int64_t) { return to_integer(number); });
    return;
  }
  const size_t place = call.inputs.size() == 2 ? 1 : 2;  // before version 11, and since
  const Numbers* scales = call.numbers(place);
  const OnnxAttribute* old = call.attribute("scales");
  if (scales == nullptr && (old == nullptr || old->reals.empty())) return;
  const std::vector<double>& factors = scales != nullptr ? scales->values : old->reals;
  put([&](size_t i) { return factors[i]; }, factors.size(),
      [](double factor, int64_t size) {
        return to_integer(std::floor(static_cast<double>(size) * factor));
      });
}

void grid(OnnxCall& call) {  // [N, C, ...] at points [N, ..., 2]
  const Sizes* input = call.sizes(0, 3);
  const Sizes* points = call.sizes(1, 3);
  if (input == nullptr || points == nullptr || input->size() != points->size()) return;
  Sizes out{(*input)[0], (*input)[1]};
  out.insert(out.end(), points->begin() + 1, points->end() - 1);
  call.give(out);
}

void regions(OnnxCall& call) {  // RoiAlign
  const Sizes* input = call.sizes(0, 4);
  const Sizes* boxes = call.sizes(1, 2);
  if (input == nullptr || boxes == nullptr) return;
  call.give({(*boxes)[0], (*input)[1], call.integer("output_height", 1),
             call.integer("output_width", 1)});
}

}  // namespace

std::vector<Padding> paddings(const OnnxCall& call, const Sizes& input, const Sizes& kernel,
                              const Sizes& stride, const Sizes& dilation) {
  const size_t axes = kernel.size();
  const std::string mode = call.text("auto_pad");
  const Sizes pads = call.integers("pads", 2 * axes, 0);
  std::vector<Padding> out(axes);
  for (size_t i = 0; i < axes; ++i) {
    if (mode.starts_with("SAME")) {
      const int64_t outputs = input[i] / stride[i] + (input[i] % stride[i] != 0 ? 1 : 0);
      const int64_t wanted =
          sum_of(product_of({outputs - 1, stride[i]}), reach(kernel[i], dilation[i]));
      const int64_t both = std::max<int64_t>(0, wanted - input[i]);
      out[i] = {both / 2, both - both / 2};
      if (mode == "SAME_LOWER") std::swap(out[i].before, out[i].behind);
    } else if (mode != "VALID") {
      out[i] = {pads[i], pads[i + axes]};
    }
  }
  return out;
}

Sizes table_padding(const OnnxCall& call, const Sizes& kernel, const Sizes& stride,
                    const Sizes& dilation) {
  const bool transposed = call.node.op == "ConvTranspose";
  const Sizes input = image_sizes(*call.sizes(0)), output = image_sizes(*call.outputs[0].sizes);
  const auto around = paddings(call, input, kernel, stride, dilation);
  const Sizes full = transposed ? uncut(call, kernel, stride, dilation) : Sizes{};
  const Sizes more = call.integers("output_padding", kernel.size(), 0);
  const auto fits = [&](size_t i, int64_t padding) {
    const int64_t both = product_of({2, padding});
    if (!transposed) {
      const int64_t room = sum_of(sum_of(input[i], both), -reach(kernel[i], dilation[i]));
      return room / stride[i] + 1 == output.at(i);
    }
    const int64_t least = sum_of(full[i], -sum_of(more[i], both));
    return output.at(i) >= least && output[i] < sum_of(least, std::max(stride[i], dilation[i]));
  };
  Sizes out;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t both =
        std::max<int64_t>(0, transposed ? sum_of(full[i], -output.at(i))
                                        : sum_of(around[i].before, around[i].behind));
    const int64_t up = sum_of(both, 1) / 2;
    out.push_back(!fits(i, up) && fits(i, both / 2) ? both / 2 : up);
  }
  return out;
}

ShapeRule window_rule(const std::string& op) {
  static const auto rules =
      word_map<ShapeRule>({{"Conv ConvInteger QLinearConv", convolution},
                           {"ConvTranspose", transposed},
                           {"DeformConv", deformable},
                           {"MaxPool AveragePool LpPool", pool},
                           {"GlobalAveragePool GlobalMaxPool GlobalLpPool", global_pool},
                           {"Resize Upsample", resize},
                           {"GridSample", grid},
                           {"RoiAlign", regions}});
  return value_or_null(rules, op);
}

}  // namespace adagp::layers
