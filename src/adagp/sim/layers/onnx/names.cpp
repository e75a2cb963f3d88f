#include "adagp/sim/layers/onnx/names.h"

#include <algorithm>
#include <map>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/onnx/call.h"
#include "adagp/sim/layers/word_set.h"

namespace adagp::layers {
namespace {

// Of torch's exporters: "onnx::MatMul_123", "val_12"; of Constant nodes "/layer/Constant_output_0".
bool is_made_up(const std::string& name) {
  if (name.starts_with("onnx::") || name.starts_with('/')) return true;
  const std::string number = name.starts_with("val_") ? name.substr(4) : "";
  return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
}

std::string role(const OnnxNode& node, size_t place) {
  if (node.op == "LSTM" || node.op == "GRU" || node.op == "RNN") {
    return place == 1 ? ".weight_ih" : place == 2 ? ".weight_hh" : ".bias";
  }
  return place == places_of(node.op).bias ? ".bias" : ".weight";
}

// What torch calls an operation that has one name there.
const std::map<std::string, std::string>& simple_ops() {
  static const auto table = [] {
    std::map<std::string, std::string> out;
    for (const std::string& pair :
         word_set("BatchNormalization=batch_norm LayerNormalization=layer_norm "
                  "SkipLayerNormalization=layer_norm InstanceNormalization=instance_norm "
                  "GroupNormalization=group_norm RMSNormalization=rms_norm "
                  "SimplifiedLayerNormalization=rms_norm Relu=relu LeakyRelu=leaky_relu "
                  "Sigmoid=sigmoid Tanh=tanh Elu=elu Selu=selu Celu=celu HardSwish=hardswish "
                  "HardSigmoid=hardsigmoid Gelu=gelu Mish=mish PRelu=prelu Softplus=softplus "
                  "Clip=clamp Swish=silu MaxPool=max_pool2d AveragePool=avg_pool2d "
                  "GlobalAveragePool=adaptive_avg_pool2d GlobalMaxPool=adaptive_max_pool2d "
                  "ReduceMean=mean Softmax=softmax LogSoftmax=log_softmax Expand=expand "
                  "ConstantOfShape=zeros Range=arange RandomNormal=randn RandomUniform=rand")) {
      const size_t sign = pair.find('=');
      out.emplace(pair.substr(0, sign), pair.substr(sign + 1));
    }
    return out;
  }();
  return table;
}

}  // namespace

std::string module_of(const std::string& node_name) {
  if (!node_name.starts_with('/')) return "";
  std::vector<std::string> path, parts = core::split(node_name.substr(1), '/');
  if (!parts.empty()) parts.pop_back();
  for (const std::string& part : parts) {
    if (!path.empty() && part.starts_with(path.back() + ".")) path.pop_back();
    path.push_back(part);
  }
  return core::join(path, ".");
}

std::string innermost_scope(const std::string& scopes) {
  const auto parts = core::split(scopes, '\'');  // the texts are every second part
  return parts.size() < 6 ? "" : parts[parts.size() - 4];
}

std::string one_line(std::string name) {
  for (char& letter : name) {
    if (static_cast<unsigned char>(letter) < 0x20) letter = '_';
  }
  return name;
}

void OnnxNames::look_at(const std::vector<OnnxNode>& nodes) {
  for (const OnnxNode& node : nodes) {
    for (size_t place = 0; place < node.inputs.size(); ++place) {
      if (!is_made_up(node.inputs[place])) continue;
      const std::string path = !node.module.empty()   ? node.module
                               : !node.name.empty()   ? node.name
                               : node.outputs.empty() ? node.op
                                                      : node.outputs[0];
      users_.try_emplace(node.inputs[place], path + role(node, place));
    }
  }
}

std::string OnnxNames::of(const std::string& weight) {
  const auto user = users_.find(weight);
  const std::string name = one_line(user == users_.end() ? weight : user->second);
  std::string unique = name;
  // The number goes before ".weight", which rows do without.
  const size_t dot = std::min(name.rfind('.'), name.size());
  for (int& i = times_[name]; !taken_.insert(unique).second;) {
    unique = core::cat(name.substr(0, dot), "_", ++i + 1, name.substr(dot));
  }
  return unique;
}

std::string simple_name(const std::string& op) {
  const auto found = simple_ops().find(op);
  return found == simple_ops().end() ? "" : found->second;
}

bool only_moves(const std::string& op) {
  static const std::set<std::string> names = word_set(
      "Reshape Flatten Squeeze Unsqueeze Slice Split Tile Pad Identity Cast CastLike Dropout Shape "
      "Size Constant DepthToSpace SpaceToDepth Transpose GatherND GatherElements EyeLike Trilu "
      "ReverseSequence DynamicQuantizeLinear QuantizeLinear DequantizeLinear SplitToSequence "
      "SequenceConstruct SequenceAt SequenceEmpty SequenceInsert ConcatFromSequence Optional "
      "OptionalGetElement Compress");
  return names.contains(op);
}

bool has_no_products(const std::string& op) {
  static const std::set<std::string> names = word_set(
      "Mul Div Exp Log Sqrt Reciprocal Pow Neg Abs Sign Erf Sin Cos Tan Atan Asin Acos Sinh Cosh "
      "Asinh Acosh Atanh Floor Ceil Round Mod Where Equal Greater Less GreaterOrEqual LessOrEqual "
      "Not And Or Xor BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot Max Min Sum Mean "
      "ReduceSum "
      "ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
      "ReduceSumSquare ArgMax ArgMin TopK CumSum Resize Upsample IsNaN IsInf GridSample ScatterND "
      "ScatterElements Scatter TensorScatter NonZero OneHot RandomNormalLike RandomUniformLike "
      "Bernoulli Softsign ThresholdedRelu Shrink Hardmax Unique LpPool GlobalLpPool LRN "
      "LpNormalization MeanVarianceNormalization RoiAlign NonMaxSuppression MaxUnpool Multinomial "
      "RotaryEmbedding");
  return names.contains(op);
}

OnnxPlaces places_of(const std::string& op) {
  if (op == "QLinearConv") return {3, 8};
  if (op == "QLinearMatMul") return {3, kNoOperand};
  if (op == "ConvInteger" || op == "MatMulInteger") return {1, kNoOperand};
  return {};
}

}  // namespace adagp::layers
