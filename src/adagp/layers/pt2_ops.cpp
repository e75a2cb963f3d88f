#include "adagp/layers/pt2_ops.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace adagp::layers {
namespace {

// aten's operations that are one of the table's vector operations.
const std::map<std::string, std::string>& vector_ops() {
  static const std::map<std::string, std::string> table = [] {
    const std::pair<const char*, std::vector<const char*>> kinds[] = {
        {"batch_norm",
         {"batch_norm", "native_batch_norm", "_native_batch_norm_legit",
          "_native_batch_norm_legit_no_training", "_native_batch_norm_legit_functional",
          "cudnn_batch_norm", "_batch_norm_with_update", "_batch_norm_no_update"}},
        {"layer_norm",
         {"layer_norm", "native_layer_norm", "group_norm", "native_group_norm", "instance_norm",
          "rms_norm", "_fused_rms_norm"}},
        {"softmax", {"softmax", "_softmax", "log_softmax", "_log_softmax", "_safe_softmax"}},
        {"activation",
         {"relu",  "relu6",     "hardtanh",    "leaky_relu", "gelu",      "silu",        "sigmoid",
          "tanh",  "hardswish", "hardsigmoid", "elu",        "celu",      "selu",        "mish",
          "prelu", "softplus",  "clamp",       "clamp_min",  "clamp_max", "log_sigmoid", "glu"}},
        {"add", {"add", "sub"}},
        {"pool",
         {"max_pool1d", "max_pool2d", "max_pool2d_with_indices", "avg_pool1d", "avg_pool2d",
          "adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d",
          "adaptive_max_pool2d", "mean"}},
        {"concat", {"cat", "concat"}},
        {"embedding", {"embedding"}},
    };
    std::map<std::string, std::string> made;
    for (const auto& [op, names] : kinds) {
      for (const char* name : names) made[name] = op;
    }
    return made;
  }();
  return table;
}

bool without_arithmetic(const std::string& op) {
  static const std::set<std::string> names{"view",
                                           "reshape",
                                           "_unsafe_view",
                                           "transpose",
                                           "permute",
                                           "t",
                                           "flatten",
                                           "unflatten",
                                           "squeeze",
                                           "unsqueeze",
                                           "select",
                                           "slice",
                                           "expand",
                                           "expand_as",
                                           "contiguous",
                                           "clone",
                                           "detach",
                                           "alias",
                                           "lift_fresh_copy",
                                           "split",
                                           "split_with_sizes",
                                           "chunk",
                                           "unbind",
                                           "stack",
                                           "repeat",
                                           "repeat_interleave",
                                           "dropout",
                                           "native_dropout",
                                           "feature_dropout",
                                           "to",
                                           "_to_copy",
                                           "type_as",
                                           "float",
                                           "copy",
                                           "zeros_like",
                                           "ones_like",
                                           "full_like",
                                           "empty_like",
                                           "new_zeros",
                                           "new_ones",
                                           "new_full",
                                           "narrow",
                                           "roll",
                                           "flip",
                                           "constant_pad_nd",
                                           "pad",
                                           "movedim",
                                           "swapaxes",
                                           "view_as",
                                           "mT",
                                           "_operator.getitem",
                                           "pixel_shuffle",
                                           "channel_shuffle",
                                           "tril",
                                           "triu"};
  return names.contains(op);
}

}  // namespace

OpKind op_kind(const std::string& op) {
  static const std::map<std::string, OpKind> kProducts{{"conv1d", OpKind::kConvolution},
                                                       {"conv2d", OpKind::kConvolution},
                                                       {"convolution", OpKind::kConvolution},
                                                       {"linear", OpKind::kLinear},
                                                       {"mm", OpKind::kProduct},
                                                       {"bmm", OpKind::kProduct},
                                                       {"matmul", OpKind::kProduct},
                                                       {"addmm", OpKind::kProduct},
                                                       {"baddbmm", OpKind::kProduct}};
  const auto product = kProducts.find(op);
  if (product != kProducts.end()) return product->second;
  // In many variants: _scaled_dot_product_flash_attention_for_cpu and the like.
  if (op.find("scaled_dot_product") != std::string::npos) return OpKind::kAttention;
  if (!vector_op(op).empty()) return OpKind::kVector;
  return without_arithmetic(op) ? OpKind::kNoArithmetic : OpKind::kUnknown;
}

std::string vector_op(const std::string& op) {
  const auto found = vector_ops().find(op);
  return found == vector_ops().end() ? "" : found->second;
}

}  // namespace adagp::layers
