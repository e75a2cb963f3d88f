// Linear layers, products of matrices, attention and einsum.
#include <algorithm>
#include <set>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/exported_rows.h"
#include "adagp/sim/layers/table_check.h"

namespace adagp::layers {
namespace {

bool is_weight(const Value& v) {
  return !v.activation && !v.parameter.empty();
}

}  // namespace

bool RowReader::weight_product(const Node& node, const Value& weight, const Value* bias,
                               const Sizes& sizes) {
  if (sizes.k < 1 || sizes.n < 1 || sizes.groups < 1 || sizes.m < 1) return false;
  if (sizes.m % batch_ != 0 || !result(node).activation) {
    once_a_batch(node, product_of({sizes.m, sizes.k, sizes.n, sizes.groups}));
    return true;
  }
  Row row;
  row.name = layer_name(weight);
  row.op = "linear";
  row.groups = sizes.groups;
  row.input = {product_of({sizes.k, sizes.groups}), 1, sizes.m / batch_};
  row.output = {product_of({sizes.n, sizes.groups}), 1, sizes.m / batch_};
  if (bias != nullptr && !bias->activation) row.bias = bias->elements();
  add(std::move(row));
  return true;
}

bool RowReader::activation_product(const Node& node, Sizes sizes) {
  if (sizes.k < 1 || sizes.n < 1 || sizes.groups < 1 || sizes.m < 1) return false;
  // A stack of products has the examples in it; one alone may have them in its rows or columns.
  int64_t* const parts[] = {&sizes.groups, &sizes.m, &sizes.n};
  int64_t* const* const end = sizes.groups > 1 ? parts + 1 : std::end(parts);
  int64_t* const* const divided = std::find_if(
      std::begin(parts), end, [&](const int64_t* part) { return *part % batch_ == 0; });
  if (divided == end || !result(node).activation) {
    once_a_batch(node, product_of({sizes.m, sizes.k, sizes.n, sizes.groups}));
    return true;
  }
  **divided /= batch_;
  Row row;
  row.op = "matmul";
  row.name = names_.operation(row.op);
  row.groups = sizes.groups;
  row.input = {product_of({sizes.k, sizes.groups}), 1, sizes.m};
  row.output = {product_of({sizes.n, sizes.groups}), 1, sizes.m};
  add(std::move(row));
  return true;
}

bool RowReader::linear(const Node& node) {
  const Value* input = operand(node, "input");
  const Value* weight = operand(node, "weight");
  if (input == nullptr || weight == nullptr || weight->dim() < 1) return false;
  const int64_t in = weight->size(-1), out = weight->dim() == 1 ? 1 : weight->size(-2);
  if (in < 1) return false;
  const Sizes sizes{input->elements() / in, in, out, 1};
  if (is_weight(*weight)) return weight_product(node, *weight, operand(node, "bias"), sizes);
  return activation_product(node, sizes);
}

bool RowReader::product(const Node& node) {
  // mm and bmm: self x mat2; matmul: self x other; mv: self x vec; dot: self x tensor;
  // addmm, addmv, baddbmm: self + the product of two others.
  const Value* left = operand(node, node.tensor("mat") ? "mat" : node.left());
  const Value* right = nullptr;
  for (const std::string name : {"mat2", "other", "batch2", "vec", "tensor"}) {
    if (right == nullptr) right = operand(node, name);
  }
  if (left == nullptr || right == nullptr || left->dim() < 1 || right->dim() < 1) return false;
  const int64_t m = left->dim() == 1 ? 1 : left->size(-2), k = left->size(-1);
  const int64_t n = right->dim() == 1 ? 1 : right->size(-1);
  if (m < 1 || k < 1 || n < 1) return false;
  const bool adds = node.op.starts_with("add") || node.op.starts_with("badd");
  const Value* bias = adds ? operand(node, "self") : nullptr;
  // A weight may stand there once for each example, and may be a stack of matrices. It may also
  // stand on the left.
  const auto learnt = [&](const Value& weight, const Value& other, int64_t out) {
    const int64_t matrix = product_of({k, out});
    if (!is_weight(weight) || weight.distinct < matrix || weight.distinct % matrix != 0) {
      return false;
    }
    const int64_t groups = weight.distinct / matrix;
    if (other.elements() % product_of({k, groups}) != 0) return false;
    return weight_product(node, weight, bias, {other.elements() / (k * groups), k, out, groups});
  };
  if (learnt(*right, *left, n) || (right->activation && learnt(*left, *right, m))) return true;
  return activation_product(node, {m, k, n, result(node).elements() / product_of({m, n})});
}

bool RowReader::attention(const Node& node) {
  const Value* query = operand(node, "query");
  const Value* key = operand(node, "key");
  const Value* values = operand(node, "value");
  if (query == nullptr || key == nullptr || values == nullptr || query->dim() < 2 ||
      key->dim() < 2 || values->dim() < 2) {
    return false;
  }
  const int64_t queries = query->size(-2), width = query->size(-1), keys = key->size(-2);
  if (queries < 1 || width < 1 || keys < 1 || values->size(-1) < 1) return false;
  const int64_t heads = query->elements() / product_of({queries, width});
  const size_t before = rows.size();
  activation_product(node, {queries, width, keys, heads});
  if (rows.size() > before) {
    Row softmax;
    softmax.op = "softmax";
    softmax.name = names_.operation(softmax.op);
    softmax.input = softmax.output = rows.back().output;
    add(std::move(softmax));
  }
  activation_product(node, {queries, keys, values->size(-1), heads});
  return true;
}

// Two operands of an einsum become one, with the letters that are `kept`: the result's and those of
// operands that are still to come.
bool RowReader::pair(const Node& node, const Operand& left, const Operand& right,
                     const std::string& kept, const std::map<char, int64_t>& sizes) {
  Sizes product;
  bool contracts = false;
  std::set<char> all(left.letters.begin(), left.letters.end());
  all.insert(right.letters.begin(), right.letters.end());
  for (const char letter : all) {
    const bool stays = kept.find(letter) != std::string::npos;
    const bool on_left = left.letters.find(letter) != std::string::npos;
    const bool on_right = right.letters.find(letter) != std::string::npos;
    if (!stays && !(on_left && on_right)) continue;  // summed before
    int64_t& part = on_left && on_right ? (stays ? product.groups : product.k)
                    : on_left           ? product.m
                                        : product.n;
    part = product_of({part, sizes.at(letter)});
    contracts = contracts || !stays;
  }
  if (!contracts) {
    uncount(node, node.target, 0);
    return true;
  }
  if (right.value != nullptr && is_weight(*right.value)) {
    return weight_product(node, *right.value, nullptr, product);
  }
  if (left.value != nullptr && is_weight(*left.value)) {
    std::swap(product.m, product.n);
    return weight_product(node, *left.value, nullptr, product);
  }
  return activation_product(node, product);
}

bool RowReader::einsum(const Node& node) {
  std::string equation;
  for (const char c : node.text("equation")) equation += c == ' ' ? "" : std::string(1, c);
  const size_t arrow = equation.find("->");
  const auto names = node.tensors("tensors");
  const auto subscripts = core::split(equation.substr(0, arrow), ',');
  if (names.size() < 2 || subscripts.size() != names.size()) return false;
  std::vector<Operand> operands;
  std::map<char, int64_t> sizes;
  std::map<char, int> uses;
  for (size_t i = 0; i < names.size(); ++i) {
    const Value& v = value(names[i]);
    std::string letters = subscripts[i];
    const size_t dots = letters.find("...");
    if (dots != std::string::npos) {  // the dimensions it stands for are named from the right: 9, 8
      const int64_t more = v.dim() - static_cast<int64_t>(letters.size()) + 3;
      if (more < 0 || more > 9) return false;
      std::string digits;
      for (int64_t d = more; d > 0; --d) digits += static_cast<char>('0' + d);
      letters.replace(dots, 3, digits);
    }
    if (static_cast<int64_t>(letters.size()) != v.dim()) return false;
    for (size_t d = 0; d < letters.size(); ++d) {
      if (letters.find(letters[d]) != d) return false;  // a diagonal
      int64_t& size = sizes[letters[d]];
      size = std::max(size, v.sizes[d]);
      ++uses[letters[d]];
    }
    operands.push_back({letters, &v});
  }
  std::string kept;
  for (const auto& [letter, count] : uses) {
    const bool digit = letter >= '0' && letter <= '9';
    const bool named =
        arrow == std::string::npos ? count == 1 : equation.find(letter, arrow) != std::string::npos;
    if (digit || named) kept += letter;
  }
  // The order of contractions: pairs of positions, or from left to right.
  std::vector<int64_t> path = node.ints("path", {});
  while (operands.size() > 1) {
    int64_t i = 0, j = 1;
    if (path.size() >= 2) {
      i = std::min(path[0], path[1]), j = std::max(path[0], path[1]);
      path.erase(path.begin(), path.begin() + 2);
    }
    if (i < 0 || i == j || j >= static_cast<int64_t>(operands.size())) return false;
    const Operand left = operands[static_cast<size_t>(i)], right = operands[static_cast<size_t>(j)];
    operands.erase(operands.begin() + j);
    operands.erase(operands.begin() + i);
    std::string stays = kept;
    for (const Operand& other : operands) stays += other.letters;
    if (!pair(node, left, right, stays, sizes)) return false;
    Operand made;
    for (const auto& [letter, size] : sizes) {
      const bool has = (left.letters + right.letters).find(letter) != std::string::npos;
      if (has && stays.find(letter) != std::string::npos) made.letters += letter;
    }
    // Without a path the product takes the place of the first two.
    operands.insert(
        path.empty() && node.ints("path", {}).empty() ? operands.begin() : operands.end(), made);
  }
  return true;
}

}  // namespace adagp::layers
