// Numbers of small constants that only change their places.
#include <algorithm>
#include <map>

#include "adagp/sim/layers/onnx/folding.h"

namespace adagp::layers {
namespace {

using Index = Sizes;

double at(const Sizes& sizes, const std::vector<double>& values, const Index& index) {
  int64_t place = 0;
  for (size_t d = 0; d < sizes.size(); ++d) place = place * sizes[d] + index[d];
  return values.at(static_cast<size_t>(place));
}

// One number for each place of the result.
template <typename Number>
void fill(const Sizes& sizes, std::vector<double>& out, const Number& number) {
  Index index(sizes.size(), 0);
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(number(index));
    for (size_t d = sizes.size(); d > 0 && ++index[d - 1] == sizes[d - 1]; --d) index[d - 1] = 0;
  }
}

struct Operand {
  const Sizes& sizes;
  const std::vector<double>& values;
  double operator()(const Index& index) const { return at(sizes, values, index); }
};

Operand operand_of(const OnnxCall& call, size_t place) {
  return {*call.sizes(place), call.numbers(place)->values};
}

bool slice_numbers(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  const auto starts = call.list(1, "starts"), axes = call.list(3, "axes");
  const auto steps = call.list(4, "steps");
  const Operand input = operand_of(call, 0);
  if (!starts) return false;
  Sizes start(sizes.size(), 0), step(sizes.size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) {
    const size_t axis = axes ? axis_of(axes->at(i), sizes.size()) : i;
    const int64_t size = input.sizes.at(axis), first = (*starts)[i];
    if (steps) step[axis] = steps->at(i);
    if (size == 0) return true;
    start[axis] = std::clamp<int64_t>(first < 0 ? first + size : first, 0, size);
    if (step[axis] < 0) start[axis] = std::min(start[axis], size - 1);
  }
  fill(sizes, out.values, [&](Index index) {
    for (size_t d = 0; d < index.size(); ++d) index[d] = start[d] + index[d] * step[d];
    return input(index);
  });
  return true;
}

bool turn_numbers(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  const Operand input = operand_of(call, 0);
  const auto order = call.list(kNoOperand, "perm");
  fill(sizes, out.values, [&](const Index& index) {
    Index from(index.rbegin(), index.rend());
    for (size_t d = 0; order && d < index.size(); ++d) {
      from[axis_of((*order)[d], index.size())] = index[d];
    }
    return input(from);
  });
  return true;
}

bool gather_numbers(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  if (call.numbers(1) == nullptr) return false;
  const Operand input = operand_of(call, 0), places = operand_of(call, 1);
  const size_t axis = axis_of(call.integer("axis", 0), input.sizes.size());
  const auto begin = static_cast<std::ptrdiff_t>(axis);
  const auto end = begin + static_cast<std::ptrdiff_t>(places.sizes.size());
  fill(sizes, out.values, [&](const Index& index) {
    const int64_t place = to_integer(places(Index(index.begin() + begin, index.begin() + end)));
    Index from(index.begin(), index.begin() + begin);
    from.push_back(static_cast<int64_t>(axis_of(place, static_cast<size_t>(input.sizes[axis]))));
    from.insert(from.end(), index.begin() + end, index.end());
    return input(from);
  });
  return true;
}

bool join_numbers(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.numbers(i) == nullptr) return false;
    out.whole = out.whole && call.numbers(i)->whole;
  }
  const size_t axis = axis_of(call.integer("axis", 0), sizes.size());
  fill(sizes, out.values, [&](Index index) {
    size_t i = 0;
    for (; index[axis] >= call.sizes(i)->at(axis); ++i) index[axis] -= call.sizes(i)->at(axis);
    return operand_of(call, i)(index);
  });
  return true;
}

// Repeats: Expand, Tile.
bool repeat_numbers(const OnnxCall& call, const Sizes& sizes, Numbers& out) {
  out.values = repeated(call, 0, sizes);
  return true;
}

bool same_numbers(const OnnxCall& call, const Sizes&, Numbers& out) {
  out.values = call.numbers(0)->values;
  return true;
}

}  // namespace

std::vector<double> repeated(const OnnxCall& call, size_t place, const Sizes& sizes) {
  const Operand input = operand_of(call, place);
  std::vector<double> out;
  fill(sizes, out, [&](const Index& index) {
    Index from(index.end() - static_cast<std::ptrdiff_t>(input.sizes.size()), index.end());
    for (size_t d = 0; d < from.size(); ++d) from[d] %= input.sizes[d];
    return input(from);
  });
  return out;
}

FoldRule move_fold(const std::string& op) {
  static const std::map<std::string, FoldRule> rules{
      {"Slice", slice_numbers},   {"Transpose", turn_numbers}, {"Gather", gather_numbers},
      {"Concat", join_numbers},   {"Expand", repeat_numbers},  {"Tile", repeat_numbers},
      {"Identity", same_numbers}, {"Reshape", same_numbers},   {"Squeeze", same_numbers},
      {"Flatten", same_numbers},  {"Unsqueeze", same_numbers}};
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace adagp::layers
