#include "adagp/sim/layers/onnx/op_names.h"

#include <map>

#include "adagp/sim/layers/onnx/call.h"
#include "adagp/sim/layers/word_set.h"

namespace adagp::layers {
namespace {

const std::map<std::string, std::string>& simple_ops() {
  static const std::map<std::string, std::string> table{
      {"BatchNormalization", "batch_norm"},
      {"LayerNormalization", "layer_norm"},
      {"InstanceNormalization", "instance_norm"},
      {"GroupNormalization", "group_norm"},
      {"RMSNormalization", "rms_norm"},
      {"SimplifiedLayerNormalization", "rms_norm"},
      {"SkipLayerNormalization", "layer_norm"},
      {"Relu", "relu"},
      {"LeakyRelu", "leaky_relu"},
      {"Sigmoid", "sigmoid"},
      {"Tanh", "tanh"},
      {"Elu", "elu"},
      {"Selu", "selu"},
      {"Celu", "celu"},
      {"HardSwish", "hardswish"},
      {"HardSigmoid", "hardsigmoid"},
      {"Gelu", "gelu"},
      {"Mish", "mish"},
      {"PRelu", "prelu"},
      {"Softplus", "softplus"},
      {"Clip", "clamp"},
      {"Swish", "silu"},
      {"MaxPool", "max_pool2d"},
      {"AveragePool", "avg_pool2d"},
      {"GlobalAveragePool", "adaptive_avg_pool2d"},
      {"GlobalMaxPool", "adaptive_max_pool2d"},
      {"ReduceMean", "mean"},
      {"Softmax", "softmax"},
      {"LogSoftmax", "log_softmax"},
      {"Expand", "expand"},
      {"ConstantOfShape", "zeros"},
      {"Range", "arange"},
      {"RandomNormal", "randn"},
      {"RandomUniform", "rand"}};
  return table;
}

}  // namespace

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
