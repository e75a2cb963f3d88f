// Which rule an operator has; element-wise operators, reductions and those that give sizes.
#include "adagp/sim/layers/onnx/shapes.h"

#include <algorithm>
#include <map>
#include <set>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/table_check.h"
#include "adagp/sim/layers/word_set.h"

namespace adagp::layers {
namespace {

// All outputs that have sizes have those of the first input.
void as_input(OnnxCall& call) {
  if (const Sizes* input = call.sizes(0)) call.give(*input);
  if (call.node.op == "Dropout" && call.sizes(0) != nullptr) call.give(*call.sizes(0), 1);
}

void broadcast_all(OnnxCall& call) {
  if (call.inputs.empty() || call.sizes(0) == nullptr) return;
  Sizes out = *call.sizes(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (call.sizes(i) == nullptr) return;
    out = broadcast(out, *call.sizes(i));
  }
  call.give(out);
}

void reduce(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  const auto axes = call.list(1, "axes");
  if (input == nullptr || (!axes && call.has(1))) return;
  const bool none = !axes || axes->empty();
  if (none && call.integer("noop_with_empty_axes", 0) != 0) return call.give(*input);
  std::set<size_t> reduced;
  for (const int64_t axis : axes.value_or(Sizes{})) reduced.insert(axis_of(axis, input->size()));
  Sizes out;
  for (size_t i = 0; i < input->size(); ++i) {
    const bool goes = none || reduced.contains(i);
    if (!goes || call.integer("keepdims", 1) != 0) out.push_back(goes ? 1 : (*input)[i]);
  }
  call.give(out);
}

void arg_max(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 1);
  if (input == nullptr) return;
  Sizes out = *input;
  const size_t axis = axis_of(call.integer("axis", 0), out.size());
  out[axis] = 1;
  if (call.integer("keepdims", 1) == 0) out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  call.give(out);
}

void top_k(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 1);
  const auto count = call.list(1, "k");
  if (input == nullptr || !count || count->size() != 1 || (*count)[0] < 0) return;
  Sizes out = *input;
  out[axis_of(call.integer("axis", -1), out.size())] = (*count)[0];
  call.give(out);
  call.give(out, 1);
}

void as_second(OnnxCall& call) {
  if (const Sizes* second = call.sizes(1)) call.give(*second);
}

void one_hot(OnnxCall& call) {
  const Sizes* places = call.sizes(0);
  const auto depth = call.list(1, "depth");
  if (places == nullptr || !depth || depth->size() != 1 || (*depth)[0] < 0) return;
  Sizes out = *places;
  const int64_t axis = call.integer("axis", -1);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis_of(axis, out.size() + 1)), (*depth)[0]);
  call.give(out);
}

void shape_of(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  if (input == nullptr || call.outputs.empty()) return;
  const auto dims = static_cast<int64_t>(input->size());
  const auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + dims : at, 0, dims);
  };
  const int64_t start = place(call.integer("start", 0)), end = place(call.integer("end", dims));
  Numbers numbers;
  for (int64_t i = start; i < end; ++i) {
    numbers.values.push_back(static_cast<double>((*input)[static_cast<size_t>(i)]));
  }
  call.give({static_cast<int64_t>(numbers.values.size())});
  call.outputs[0].numbers = std::move(numbers);
}

void count_of_numbers(OnnxCall& call) {  // Size
  const Sizes* input = call.sizes(0);
  if (input == nullptr || call.outputs.empty()) return;
  int64_t count = 1;
  for (const int64_t size : *input) count = product_of({count, size});
  call.give({});
  call.outputs[0].numbers = Numbers{{static_cast<double>(count)}, true};
}

void constant(OnnxCall& call) {
  if (call.outputs.empty()) return;
  OnnxValue& out = call.outputs[0];
  const auto scalar = [&](double number, bool whole) { out = {Sizes{}, Numbers{{number}, whole}}; };
  if (const auto* one = call.attribute("value"); one != nullptr && one->tensor) {
    out = {one->tensor->sizes, one->tensor->numbers};
  } else if (one = call.attribute("sparse_value"); one != nullptr && one->tensor) {
    out.sizes = one->tensor->sizes;
  } else if (one = call.attribute("value_int"); one != nullptr && one->integer) {
    scalar(static_cast<double>(*one->integer), true);
  } else if (one = call.attribute("value_float"); one != nullptr) {
    scalar(one->real, false);
  } else if (one = call.attribute("value_ints"); one != nullptr) {
    out = {Sizes{static_cast<int64_t>(one->integers.size())},
           Numbers{{one->integers.begin(), one->integers.end()}, true}};
  } else if (one = call.attribute("value_floats"); one != nullptr) {
    out = {Sizes{static_cast<int64_t>(one->reals.size())}, Numbers{one->reals, false}};
  }
}

ShapeRule plain_rule(const std::string& op) {
  static const std::map<std::string, ShapeRule> rules{
      {"ArgMax", arg_max},        {"ArgMin", arg_max},           {"TopK", top_k},
      {"OneHot", one_hot},        {"GatherElements", as_second}, {"Shape", shape_of},
      {"Size", count_of_numbers}, {"Constant", constant}};
  static const std::set<std::string> kAsInput = word_set(
      "Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Bernoulli BitwiseNot Cast Ceil Celu "
      "Clip Cos Cosh CumSum DequantizeLinear Dropout DynamicQuantizeLinear Elu Erf Exp EyeLike "
      "Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization "
      "IsInf IsNaN LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization "
      "MeanVarianceNormalization Mish Neg Not PRelu QuantizeLinear RMSNormalization "
      "RandomNormalLike RandomUniformLike Reciprocal Relu ReverseSequence RotaryEmbedding Round "
      "Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign SimplifiedLayerNormalization "
      "Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh TensorScatter ThresholdedRelu Trilu "
      "CastLike SkipLayerNormalization");
  static const std::set<std::string> kBroadcast = word_set(
      "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less "
      "LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum Where Xor");
  if (const auto found = rules.find(op); found != rules.end()) return found->second;
  if (kAsInput.contains(op)) return as_input;
  if (kBroadcast.contains(op)) return broadcast_all;
  return op.starts_with("Reduce") ? reduce : nullptr;
}

}  // namespace

Sizes broadcast(const Sizes& a, const Sizes& b) {
  const size_t dims = std::max(a.size(), b.size());
  Sizes out(dims);
  for (size_t i = 1; i <= dims; ++i) {
    const int64_t left = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t right = i <= b.size() ? b[b.size() - i] : 1;
    if (left != right && left != 1 && right != 1) {
      does_not_fit(core::cat("sizes ", left, " and ", right, " along one axis"));
    }
    if (left < 0 || right < 0) does_not_fit("a negative size");
    out[dims - i] = left == 1 ? right : left;
  }
  return out;
}

void infer(OnnxCall& call) {
  for (const auto find : {window_rule, move_rule, product_rule, plain_rule}) {
    if (const ShapeRule rule = find(call.node.op)) {
      rule(call);
      break;
    }
  }
  fold(call);
}

}  // namespace adagp::layers
