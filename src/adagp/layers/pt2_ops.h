#pragma once
// Which of aten's operations are rows of a layer table. Torch-free.

#include <string>

namespace adagp::layers {

enum class OpKind {
  kUnknown,
  kNoArithmetic,  // moves or makes numbers, or does nothing outside training: no row
  kConvolution,
  kLinear,
  kProduct,  // of two matrices, or stacks of them
  kAttention,
  kVector,
};
// `op` as Node::op() gives it.
OpKind op_kind(const std::string& op);
// Its name in the table; "" when it is no vector operation.
std::string vector_op(const std::string& op);

}  // namespace adagp::layers
