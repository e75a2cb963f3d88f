// Sizes of products of matrices, recurrent layers and attention.
#include <algorithm>
#include <map>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/onnx/names.h"
#include "adagp/sim/layers/onnx/shapes.h"
#include "adagp/sim/layers/table_check.h"
#include "adagp/sim/layers/word_set.h"

namespace adagp::layers {
namespace {

void require_equal(int64_t a, int64_t b) {
  if (a != b) does_not_fit(core::cat("rows of ", a, " numbers meet columns of ", b));
}

void gemm(OnnxCall& call) {
  const Sizes* left = call.sizes(0, 2);
  const Sizes* right = call.sizes(1, 2);
  if (left == nullptr || right == nullptr) return;
  if (left->size() != 2 || right->size() != 2) does_not_fit("its operands are no matrices");
  const bool turned = call.integer("transA", 0) != 0, turned_right = call.integer("transB", 0) != 0;
  require_equal((*left)[turned ? 0 : 1], (*right)[turned_right ? 1 : 0]);
  call.give({(*left)[turned ? 1 : 0], (*right)[turned_right ? 0 : 1]});
}

void matmul(OnnxCall& call) {
  const Sizes* left = call.sizes(0, 1);
  const Sizes* right = call.sizes(places_of(call.node.op).weight, 1);
  if (left == nullptr || right == nullptr) return;
  const bool row = left->size() == 1, column = right->size() == 1;
  require_equal(left->back(), column ? right->back() : (*right)[right->size() - 2]);
  const auto stack = [](const Sizes& sizes, bool vector) {
    return vector ? Sizes{} : Sizes(sizes.begin(), sizes.end() - 2);
  };
  Sizes out = broadcast(stack(*left, row), stack(*right, column));
  if (!row) out.push_back((*left)[left->size() - 2]);
  if (!column) out.push_back(right->back());
  call.give(out);
}

// Of letters alone; an ellipsis stands for what the letters leave.
void einsum(OnnxCall& call) {
  std::string equation;
  for (const char c : call.text("equation")) equation += c == ' ' ? "" : std::string(1, c);
  const size_t arrow = equation.find("->");
  const auto operands = core::split(equation.substr(0, arrow), ',');
  if (operands.size() != call.inputs.size()) does_not_fit("not a subscript for each operand");
  std::map<char, int64_t> sizes;
  std::map<char, int> uses;
  Sizes dots;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Sizes* v = call.sizes(i);
    if (v == nullptr) return;
    const size_t at = operands[i].find("...");
    const size_t letters = operands[i].size() - (at == std::string::npos ? 0 : 3);
    if (letters > v->size() || (at == std::string::npos && letters != v->size())) {
      does_not_fit("not a letter for each axis");
    }
    const size_t more = v->size() - letters;
    size_t d = 0;
    for (size_t c = 0; c < operands[i].size(); ++c) {
      if (c == at) {
        const auto first = v->begin() + static_cast<std::ptrdiff_t>(d);
        dots = broadcast(dots, Sizes(first, first + static_cast<std::ptrdiff_t>(more)));
        d += more, c += 2;
        continue;
      }
      int64_t& size = sizes.try_emplace(operands[i][c], 1).first->second;
      if (size != 1 && (*v)[d] != 1) require_equal(size, (*v)[d]);
      size = std::max(size, (*v)[d++]);
      ++uses[operands[i][c]];
    }
  }
  std::string result = arrow == std::string::npos ? "..." : equation.substr(arrow + 2);
  if (arrow == std::string::npos) {
    for (const auto& [letter, count] : uses) result += count == 1 ? std::string(1, letter) : "";
  }
  Sizes out;
  for (size_t c = 0; c < result.size(); ++c) {
    if (result.compare(c, 3, "...") == 0) {
      out.insert(out.end(), dots.begin(), dots.end());
      c += 2;
    } else {
      const auto found = sizes.find(result[c]);
      if (found == sizes.end()) does_not_fit("a letter of the result is none of an operand");
      out.push_back(found->second);
    }
  }
  call.give(out);
}

void recurrent(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 3);   // [steps, sequences, in]; layout 1: sequences first
  const Sizes* weight = call.sizes(1, 3);  // [directions, gates, in]
  const Sizes* own = call.sizes(2, 3);     // [directions, gates, state]
  if (input == nullptr || weight == nullptr || own == nullptr) return;
  require_equal((*input)[2], (*weight)[2]);
  if ((*weight)[0] != 1 && (*weight)[0] != 2) does_not_fit("it has neither one nor two directions");
  if ((*own)[0] != (*weight)[0] || (*own)[1] != (*weight)[1]) does_not_fit("its weights");
  const bool first = call.integer("layout", 0) == 1;
  const int64_t directions = (*weight)[0], state = (*own)[2], a = (*input)[0], b = (*input)[1];
  const Sizes last = first ? Sizes{a, directions, state} : Sizes{directions, b, state};
  call.give(first ? Sizes{a, b, directions, state} : Sizes{a, directions, b, state});
  call.give(last, 1);
  call.give(last, 2);
}

// [batch, heads, positions, width], or [batch, positions, heads x width].
void attention(OnnxCall& call) {
  const Sizes* query = call.sizes(0, 3);
  const Sizes* key = call.sizes(1, 3);
  const Sizes* value = call.sizes(2, 3);
  if (query == nullptr || key == nullptr || value == nullptr) return;
  Sizes out = *query;
  out.back() = value->back();
  if (query->size() == 3) {
    const int64_t heads = call.integer("q_num_heads", 0),
                  of_values = call.integer("kv_num_heads", 0);
    if (heads < 1 || of_values < 1 || value->back() % of_values != 0) does_not_fit("its heads");
    out.back() = product_of({value->back() / of_values, heads});
  }
  call.give(out);
}

}  // namespace

ShapeRule product_rule(const std::string& op) {
  static const auto rules = word_map<ShapeRule>({{"Gemm", gemm},
                                                 {"MatMul MatMulInteger QLinearMatMul", matmul},
                                                 {"Einsum", einsum},
                                                 {"LSTM GRU RNN", recurrent},
                                                 {"Attention", attention}});
  return value_or_null(rules, op);
}

}  // namespace adagp::layers
