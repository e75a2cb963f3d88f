#pragma once
// Which of aten's operations are rows of a layer table. Torch-free.

#include <string>

namespace adagp::layers {

enum class OpKind {
  kUnknown,
  kNoArithmetic,  // moves or makes numbers, or does nothing outside training: no row
  kNoProducts,    // computes, but multiplies no matrices: no row, and no MACs
  kConvolution,
  kLinear,
  kProduct,  // of two matrices, or stacks of them
  kAttention,
  kEinsum,
  kRecurrent,      // a whole LSTM, GRU or plain recurrent network
  kRecurrentCell,  // one step of one
  kVector,
};
bool is_product_kind(OpKind kind);
// `op` as in Node::op.
OpKind op_kind(const std::string& op);
// Its name in the table; "" when it is no vector operation.
std::string vector_op(const std::string& op);

// Whether its result is filled or expanded: a recurrent network's first state, a query that is
// learnt. Such a value is there once for each example.
bool makes_state(const std::string& op);

}  // namespace adagp::layers
