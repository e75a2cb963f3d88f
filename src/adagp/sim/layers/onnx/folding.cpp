#include "adagp/sim/layers/onnx/folding.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "adagp/sim/layers/onnx/shapes.h"

namespace adagp::layers {
namespace {

using Values = std::vector<double>;
using Pairwise = double (*)(double, double);

// Of whole numbers as C divides them.
double divide_whole(double a, double b) {
  return b == 0 ? 0 : std::trunc(a / b);
}
double modulo(double a, double b) {
  return b == 0 ? 0 : a - b * std::floor(a / b);
}

const std::map<std::string, Pairwise>& pairwise() {
  static const std::map<std::string, Pairwise> table{
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
      {"Mod", modulo},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Min", [](double a, double b) { return std::min(a, b); }},
      {"Max", [](double a, double b) { return std::max(a, b); }},
      {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
      {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
      {"Xor", [](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }}};
  return table;
}

const std::map<std::string, double (*)(double)>& unary() {
  static const std::map<std::string, double (*)(double)> table{
      {"Neg", [](double a) { return -a; }},
      {"Abs", [](double a) { return std::abs(a); }},
      {"Floor", [](double a) { return std::floor(a); }},
      {"Ceil", [](double a) { return std::ceil(a); }},
      {"Round", [](double a) { return std::nearbyint(a); }},
      {"Sqrt", [](double a) { return std::sqrt(a); }},
      {"Not", [](double a) { return a == 0 ? 1.0 : 0.0; }}};
  return table;
}

bool is_comparison(const std::string& op) {
  return op == "Equal" || op.starts_with("Less") || op.starts_with("Greater");
}

// All operands have numbers, which repeat along the axes where they are fewer.
bool fold_pairs(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  const auto found = pairwise().find(call.node.op);
  if (found == pairwise().end()) return false;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.numbers(i) == nullptr) return false;
  }
  const bool whole = call.numbers(0)->whole;
  const Pairwise operation = call.node.op == "Div" && whole ? divide_whole : found->second;
  out.values = repeated(call, 0, sizes);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const Values next = repeated(call, i, sizes);
    for (size_t j = 0; j < out.values.size(); ++j) {
      out.values[j] = operation(out.values[j], next[j]);
    }
  }
  out.whole = whole || is_comparison(call.node.op);
  return true;
}

bool fold_where(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  if (call.numbers(1) == nullptr || call.numbers(2) == nullptr) return false;
  const Values condition = repeated(call, 0, sizes), no = repeated(call, 2, sizes);
  out.values = repeated(call, 1, sizes);
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] == 0) out.values[i] = no[i];
  }
  out.whole = call.numbers(1)->whole;
  return true;
}

bool fold_unary(const OnnxCall& call, const Sizes&, Numbers& out) {
  out.values = call.numbers(0)->values;
  for (double& number : out.values) number = unary().at(call.node.op)(number);
  return true;
}

bool fold_cast(const OnnxCall& call, const Sizes&, Numbers& out) {
  constexpr int64_t kReals[] = {1, 10, 11, 16};  // float, float16, double, bfloat16
  constexpr int64_t kBool = 9;
  const int64_t to = call.integer("to", 0);
  out = *call.numbers(0);
  out.whole = std::find(std::begin(kReals), std::end(kReals), to) == std::end(kReals);
  for (double& number : out.values) {
    number = to == kBool ? (number != 0 ? 1 : 0) : out.whole ? std::trunc(number) : number;
  }
  return true;
}

bool fold_range(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  if (call.numbers(1) == nullptr || call.numbers(2) == nullptr) return false;
  const double start = call.numbers(0)->values.at(0), step = call.numbers(2)->values.at(0);
  for (int64_t i = 0; i < sizes.at(0); ++i) {
    out.values.push_back(start + static_cast<double>(i) * step);
  }
  return true;
}

bool fold_filled(const OnnxCall& call, const Sizes& sizes, Numbers& out) {  // ConstantOfShape
  const OnnxAttribute* value = call.attribute("value");
  const Numbers* given = value != nullptr && value->tensor && value->tensor->numbers
                             ? &*value->tensor->numbers
                             : nullptr;
  if (value != nullptr && (given == nullptr || given->values.size() != 1)) return false;
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  out.values.assign(static_cast<size_t>(count), given == nullptr ? 0 : given->values[0]);
  out.whole = given != nullptr && given->whole;
  return true;
}

bool fold_reduction(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  static const std::map<std::string, std::string> kSteps{
      {"ReduceProd", "Mul"}, {"ReduceSum", "Add"}, {"ReduceMax", "Max"}, {"ReduceMin", "Min"}};
  const auto step = kSteps.find(call.node.op);
  const Values& values = call.numbers(0)->values;
  const bool to_one = std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s == 1; });
  if (step == kSteps.end() || !to_one || values.empty()) return false;
  double number = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    number = pairwise().at(step->second)(number, values[i]);
  }
  out.values = {number};
  return true;
}

FoldRule rule_of(const std::string& op) {
  static const std::map<std::string, FoldRule> rules{{"Cast", fold_cast},
                                                     {"Where", fold_where},
                                                     {"Range", fold_range},
                                                     {"ConstantOfShape", fold_filled}};
  if (const FoldRule moves = move_fold(op)) return moves;
  if (const auto found = rules.find(op); found != rules.end()) return found->second;
  if (unary().contains(op)) return fold_unary;
  return op.starts_with("Reduce") ? fold_reduction : pairwise().contains(op) ? fold_pairs : nullptr;
}

}  // namespace

void fold(OnnxCall& call) {
  if (call.inputs.empty() || call.outputs.empty() || call.outputs[0].numbers) return;
  const FoldRule rule = rule_of(call.node.op);
  if (rule == nullptr || call.numbers(0) == nullptr || !call.outputs[0].sizes) return;
  const Sizes& sizes = *call.outputs[0].sizes;
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count)) return;
  }
  if (count > static_cast<int64_t>(kMostNumbers)) return;
  Numbers out{{}, call.numbers(0)->whole};
  if (rule(call, sizes, out) && static_cast<int64_t>(out.values.size()) == count) {
    call.outputs[0].numbers = std::move(out);
  }
}

}  // namespace adagp::layers
