// Sizes of what only moves, cuts or joins numbers.
#include <algorithm>
#include <cmath>
#include <set>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/onnx/shapes.h"
#include "adagp/sim/layers/table_check.h"
#include "adagp/sim/layers/word_set.h"

namespace adagp::layers {
namespace {

int64_t count_of(const Sizes& sizes, size_t first, size_t end) {
  int64_t count = 1;
  for (size_t i = first; i < end; ++i) count = product_of({count, sizes[i]});
  return count;
}
int64_t count_of(const Sizes& sizes) {
  return count_of(sizes, 0, sizes.size());
}

void reshape(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  const auto wanted = call.list(1, "shape");
  if (input == nullptr || !wanted) return;
  const bool zero_is_zero = call.integer("allowzero", 0) != 0;
  Sizes out = *wanted;
  size_t open = out.size();
  int64_t known = 1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && !zero_is_zero) {
      if (i >= input->size()) does_not_fit("a size is to stay that is not there");
      out[i] = (*input)[i];
    }
    if (out[i] < -1 || (out[i] == -1 && open < out.size())) does_not_fit("its sizes are no shape");
    if (out[i] == -1) {
      open = i;
    } else {
      known = product_of({known, out[i]});
    }
  }
  const int64_t count = count_of(*input);
  if (open < out.size() && known > 0 && count % known == 0) out[open] = count / known;
  if (count_of(out) != count || (open < out.size() && out[open] < 0)) {
    does_not_fit(core::cat(count, " numbers do not fit into its sizes"));
  }
  call.give(out);
}

void flatten(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  if (input == nullptr) return;
  const int64_t axis = call.integer("axis", 1), dims = static_cast<int64_t>(input->size());
  if (axis < -dims || axis > dims) does_not_fit(core::cat("axis ", axis));
  const auto at = static_cast<size_t>(axis < 0 ? axis + dims : axis);
  call.give({count_of(*input, 0, at), count_of(*input, at, input->size())});
}

void squeeze(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  const auto axes = call.list(1, "axes");
  if (input == nullptr || (!axes && call.given(1, "axes"))) return;
  std::set<size_t> removed;
  for (const int64_t axis : axes.value_or(Sizes{})) removed.insert(axis_of(axis, input->size()));
  Sizes out;
  for (size_t i = 0; i < input->size(); ++i) {
    const bool goes = axes ? removed.contains(i) : (*input)[i] == 1;
    if (goes && (*input)[i] != 1) does_not_fit("a size that goes is not 1");
    if (!goes) out.push_back((*input)[i]);
  }
  call.give(out);
}

void unsqueeze(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  const auto axes = call.list(1, "axes");
  if (input == nullptr || !axes) return;
  if (axes->size() > 32) does_not_fit("has too many axes");
  const size_t dims = input->size() + axes->size();
  std::set<size_t> added;
  for (const int64_t axis : *axes) {
    if (!added.insert(axis_of(axis, dims)).second) does_not_fit("an axis comes twice");
  }
  Sizes out;
  auto next = input->begin();
  for (size_t i = 0; i < dims; ++i) out.push_back(added.contains(i) ? 1 : *next++);
  call.give(out);
}

void transpose(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  if (input == nullptr) return;
  const auto order = call.list(kNoOperand, "perm");
  Sizes out(input->rbegin(), input->rend());
  if (order) {
    std::set<size_t> seen;
    if (order->size() != input->size()) does_not_fit("perm has another number of axes");
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t from = axis_of((*order)[i], out.size());
      if (!seen.insert(from).second) does_not_fit("perm names an axis twice");
      out[i] = (*input)[from];
    }
  }
  call.give(out);
}

void concat(OnnxCall& call) {
  if (call.inputs.empty() || call.sizes(0) == nullptr) return;
  Sizes out = *call.sizes(0);
  const size_t axis = axis_of(call.integer("axis", 0), out.size());
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const Sizes* more = call.sizes(i);
    if (more == nullptr) return;
    if (more->size() != out.size()) does_not_fit("operands have other numbers of dimensions");
    for (size_t d = 0; d < out.size(); ++d) {
      if (d != axis && (*more)[d] != out[d]) does_not_fit("operands have other sizes");
    }
    out[axis] = sum_of(out[axis], (*more)[axis]);
  }
  call.give(out);
}

void split(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 1);
  if (input == nullptr || call.outputs.empty()) return;
  const size_t axis = axis_of(call.integer("axis", 0), input->size());
  const int64_t whole = (*input)[axis], parts = static_cast<int64_t>(call.outputs.size());
  const auto told = call.list(1, "split");
  if (!told && call.has(1)) return;
  const int64_t each = whole / parts + (whole % parts != 0 ? 1 : 0);
  if (told && told->size() != call.outputs.size()) does_not_fit("not a size for each output");
  int64_t rest = whole;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const int64_t size = told ? (*told)[i] : std::min(each, rest);
    if (size < 0 || size > rest) does_not_fit("its parts do not add up");
    rest -= size;
    Sizes out = *input;
    out[axis] = size;
    call.give(out, i);
  }
  if (rest != 0) does_not_fit("its parts do not add up");
}

// Numbers from `first` to `end` in steps; both may count from the end of `size`.
int64_t sliced(int64_t first, int64_t end, int64_t step, int64_t size) {
  if (step == 0) does_not_fit("a step is 0");
  if (size == 0) return 0;
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto place = [&](int64_t at, int64_t least) {
    return std::clamp(at < 0 ? at + size : at, least, high);
  };
  first = place(first, 0), end = end < -size ? low : place(end, low);
  const int64_t way = step > 0 ? end - first : first - end;
  if (way <= 0) return 0;
  return step == INT64_MIN ? 1 : (way - 1) / std::abs(step) + 1;
}

void slice(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  const auto starts = call.list(1, "starts"), ends = call.list(2, "ends");
  const auto axes = call.list(3, "axes"), steps = call.list(4, "steps");
  if (input == nullptr || !starts || !ends || (call.has(3) && !axes) || (call.has(4) && !steps)) {
    return;
  }
  const size_t count = starts->size();
  if (ends->size() != count || (axes && axes->size() != count) ||
      (steps && steps->size() != count) || count > input->size()) {
    does_not_fit("its starts, ends, axes and steps are not of one number");
  }
  Sizes out = *input;
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = axes ? axis_of((*axes)[i], out.size()) : i;
    out[axis] = sliced((*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1, (*input)[axis]);
  }
  call.give(out);
}

void gather(OnnxCall& call) {
  const Sizes* input = call.sizes(0, 1);
  const Sizes* places = call.sizes(1);
  if (input == nullptr || places == nullptr) return;
  const size_t axis = axis_of(call.integer("axis", 0), input->size());
  Sizes out(input->begin(), input->begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), places->begin(), places->end());
  out.insert(out.end(), input->begin() + static_cast<std::ptrdiff_t>(axis) + 1, input->end());
  call.give(out);
}

void gather_slices(OnnxCall& call) {  // GatherND
  const Sizes* input = call.sizes(0, 1);
  const Sizes* places = call.sizes(1, 1);
  if (input == nullptr || places == nullptr) return;
  const int64_t batch = call.integer("batch_dims", 0), named = places->back();
  const auto dims = static_cast<int64_t>(input->size());
  if (batch < 0 || named < 0 || named > dims || batch > dims - named) does_not_fit("its indices");
  Sizes out(places->begin(), places->end() - 1);
  out.insert(out.end(), input->begin() + batch + named, input->end());
  call.give(out);
}

void expand(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  const auto wanted = call.list(1, "shape");
  if (input != nullptr && wanted) call.give(broadcast(*input, *wanted));
}

void tile(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  const auto times = call.list(1, "repeats");
  if (input == nullptr || !times) return;
  if (times->size() != input->size()) does_not_fit("not a repetition for each axis");
  Sizes out = *input;
  for (size_t i = 0; i < out.size(); ++i) {
    if ((*times)[i] < 0) does_not_fit("a negative repetition");
    out[i] = product_of({out[i], (*times)[i]});
  }
  call.give(out);
}

void pad(OnnxCall& call) {
  const Sizes* input = call.sizes(0);
  const auto pads = call.list(1, "pads"), axes = call.list(3, "axes");
  if (input == nullptr || !pads || (call.has(3) && !axes)) return;
  const size_t count = axes ? axes->size() : input->size();
  if (pads->size() != 2 * count || count > input->size())
    does_not_fit("not two pads for each axis");
  Sizes out = *input;
  for (size_t i = 0; i < count; ++i) {
    int64_t& size = out[axes ? axis_of((*axes)[i], out.size()) : i];
    size = sum_of(size, sum_of((*pads)[i], (*pads)[i + count]));
    if (size < 0) does_not_fit("its output has a negative size");
  }
  call.give(out);
}

void blocks(OnnxCall& call) {  // DepthToSpace, SpaceToDepth: [N, C, H, W]
  const Sizes* input = call.sizes(0, 4);
  const int64_t block = call.integer("blocksize", 0);
  if (input == nullptr) return;
  const bool up = call.node.op == "DepthToSpace";
  const int64_t area = product_of({block, block}), c = (*input)[1], h = (*input)[2],
                w = (*input)[3];
  if (block < 1 || (up ? c % area != 0 : h % block != 0 || w % block != 0)) {
    does_not_fit(core::cat("blocks of ", block));
  }
  call.give(up ? Sizes{(*input)[0], c / area, product_of({h, block}), product_of({w, block})}
               : Sizes{(*input)[0], product_of({c, area}), h / block, w / block});
}

void range(OnnxCall& call) {
  const Numbers* parts[] = {call.numbers(0), call.numbers(1), call.numbers(2)};
  for (const Numbers* part : parts) {
    if (part == nullptr || part->values.size() != 1) return;
  }
  const double step = parts[2]->values[0];
  if (step == 0) does_not_fit("a step is 0");
  const double count = std::ceil((parts[1]->values[0] - parts[0]->values[0]) / step);
  if (count < 0x1p62) call.give({to_integer(std::max(0.0, count))});
}

void filled(OnnxCall& call) {  // ConstantOfShape, RandomNormal, RandomUniform
  const auto sizes = call.list(0, "shape");
  if (!sizes || sizes->size() > 32) return;
  if (!sizes->empty() && *std::min_element(sizes->begin(), sizes->end()) < 0) {
    does_not_fit("a negative size");
  }
  call.give(*sizes);
}

}  // namespace

ShapeRule move_rule(const std::string& op) {
  static const auto rules =
      word_map<ShapeRule>({{"Reshape", reshape},
                           {"Flatten", flatten},
                           {"Squeeze", squeeze},
                           {"Unsqueeze", unsqueeze},
                           {"Transpose", transpose},
                           {"Concat", concat},
                           {"Split", split},
                           {"Slice", slice},
                           {"Gather", gather},
                           {"GatherND", gather_slices},
                           {"Expand", expand},
                           {"Tile", tile},
                           {"Pad", pad},
                           {"DepthToSpace SpaceToDepth", blocks},
                           {"Range", range},
                           {"ConstantOfShape RandomNormal RandomUniform", filled}});
  return value_or_null(rules, op);
}

}  // namespace adagp::layers
