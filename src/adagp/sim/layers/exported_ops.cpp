#include "adagp/sim/layers/exported_graph.h"

#include <set>
#include <utility>
#include <vector>

#include "adagp/sim/layers/word_set.h"

namespace adagp::layers {
namespace {

// aten's operations that are one of the table's vector operations.
const std::vector<std::pair<std::string, std::set<std::string>>>& vector_ops() {
  static const std::vector<std::pair<std::string, std::set<std::string>>> table = {
      {"batch_norm",
       word_set("batch_norm native_batch_norm _native_batch_norm_legit "
                "_native_batch_norm_legit_no_training _native_batch_norm_legit_functional "
                "cudnn_batch_norm _batch_norm_with_update _batch_norm_no_update")},
      {"layer_norm", word_set("layer_norm native_layer_norm group_norm native_group_norm "
                              "instance_norm rms_norm _fused_rms_norm")},
      {"softmax", word_set("softmax _softmax log_softmax _log_softmax _safe_softmax")},
      {"activation",
       word_set("relu relu6 hardtanh leaky_relu gelu silu sigmoid tanh hardswish hardsigmoid elu "
                "celu selu mish prelu softplus clamp clamp_min clamp_max log_sigmoid glu")},
      {"add", word_set("add sub")},
      {"pool",
       word_set("max_pool1d max_pool2d max_pool2d_with_indices avg_pool1d avg_pool2d "
                "adaptive_avg_pool1d adaptive_avg_pool2d _adaptive_avg_pool2d "
                "adaptive_max_pool1d adaptive_max_pool2d max_pool3d max_pool3d_with_indices "
                "avg_pool3d adaptive_avg_pool3d _adaptive_avg_pool3d adaptive_max_pool3d mean")},
      {"concat", word_set("cat concat")},
      {"embedding", {"embedding"}},
  };
  return table;
}

bool without_arithmetic(const std::string& op) {
  static const std::set<std::string> names = word_set(
      "view reshape _unsafe_view transpose permute t flatten unflatten squeeze unsqueeze "
      "select slice expand expand_as contiguous clone detach alias lift_fresh_copy split "
      "split_with_sizes chunk unbind stack repeat repeat_interleave dropout native_dropout "
      "feature_dropout to _to_copy type_as float copy zeros_like ones_like full_like "
      "empty_like fill new_zeros new_ones new_full narrow roll flip constant_pad_nd pad movedim "
      "swapaxes view_as mT _operator.getitem pixel_shuffle channel_shuffle tril triu zeros "
      "ones full empty arange new_empty lift_fresh slice_scatter select_scatter index_select "
      "tile unfold hstack vstack pixel_unshuffle as_strided permute_copy "
      "_assert_tensor_metadata sym_size concatenate swapdims moveaxis ravel squeeze_copy "
      "broadcast_to scalar_tensor alpha_dropout dropout3d feature_alpha_dropout meshgrid "
      "atleast_1d real view_as_real view_as_complex diagonal tensor_split unsafe_split "
      "unsafe_chunk unfold_copy im2col numpy_T T rot90 resolve_conj bool int long half "
      "_unsafe_index");
  return names.contains(op);
}

bool without_products(const std::string& op) {
  static const std::set<std::string> names = word_set(
      "mul div exp expm1 log log1p log2 sqrt rsqrt pow square neg abs sign sin cos tan atan "
      "atan2 erf erfc erfinv sinh cosh floor ceil round trunc frac fmod remainder reciprocal "
      "maximum minimum fmax fmin where eq ne lt le gt ge isnan isinf logical_and logical_or "
      "logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor sum prod amax "
      "amin max min argmax argmin any all cumsum cumprod logsumexp norm linalg_vector_norm "
      "var var_mean std std_mean addcmul addcdiv lerp rsub logit logaddexp threshold "
      "hardshrink softshrink softsign tanhshrink rrelu upsample_nearest1d upsample_nearest2d "
      "upsample_nearest3d _upsample_nearest_exact2d upsample_linear1d upsample_bilinear2d "
      "_upsample_bilinear2d_aa upsample_bicubic2d upsample_trilinear3d grid_sampler "
      "grid_sampler_2d affine_grid_generator index index_put gather scatter scatter_add "
      "masked_fill masked_scatter topk sort argsort nonzero one_hot bucketize searchsorted "
      "rand randn rand_like randn_like bernoulli normal uniform multinomial "
      "local_response_norm lp_pool2d max_unpool2d max_pool1d_with_indices "
      "fractional_max_pool2d count_nonzero nan_to_num polar complex conj angle clip "
      "cumulative_trapezoid pairwise_distance cosine_similarity embedding_bag outer ger "
      "histc unique take take_along_dim zero");
  return names.contains(op);
}

}  // namespace

OpKind op_kind(const std::string& op) {
  static const std::pair<OpKind, std::set<std::string>> kProducts[] = {
      {OpKind::kConvolution,
       word_set("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
                "convolution _convolution")},
      {OpKind::kLinear, {"linear"}},
      {OpKind::kProduct, word_set("mm bmm mv dot matmul linalg_matmul addmm addmv baddbmm")},
      {OpKind::kEinsum, {"einsum"}},
      {OpKind::kRecurrent, word_set("lstm gru rnn_tanh rnn_relu")},
      {OpKind::kRecurrentCell, word_set("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell")}};
  for (const auto& [kind, names] : kProducts) {
    if (names.contains(op)) return kind;
  }
  // In many variants: _scaled_dot_product_flash_attention_for_cpu and the like.
  if (op.find("scaled_dot_product") != std::string::npos) return OpKind::kAttention;
  if (!vector_op(op).empty()) return OpKind::kVector;
  if (without_arithmetic(op)) return OpKind::kNoArithmetic;
  return without_products(op) ? OpKind::kNoProducts : OpKind::kUnknown;
}

bool is_product_kind(OpKind kind) {
  return kind == OpKind::kConvolution || kind == OpKind::kLinear || kind == OpKind::kProduct ||
         kind == OpKind::kAttention || kind == OpKind::kEinsum || kind == OpKind::kRecurrent ||
         kind == OpKind::kRecurrentCell;
}

bool makes_state(const std::string& op) {
  static const std::set<std::string> names = word_set(
      "zeros ones full empty randn rand new_zeros new_ones new_full new_empty zeros_like "
      "ones_like repeat full_like empty_like rand_like randn_like expand expand_as "
      "broadcast_to");
  return names.contains(op);
}

std::string vector_op(const std::string& op) {
  for (const auto& [name, ops] : vector_ops()) {
    if (ops.contains(op)) return name;
  }
  return "";
}

}  // namespace adagp::layers
