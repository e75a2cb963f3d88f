#include "adagp/sim/layers/onnx/call.h"

#include <cmath>
#include <limits>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::layers {

void does_not_fit(const std::string& why) {
  throw DataError(why);
}

int64_t to_integer(double number) {
  using Limits = std::numeric_limits<int64_t>;
  if (std::isnan(number)) return 0;
  if (number >= 0x1p63) return Limits::max();
  if (number <= -0x1p63) return Limits::min();
  return static_cast<int64_t>(number);
}

size_t axis_of(int64_t axis, size_t dims) {
  const auto count = static_cast<int64_t>(dims);
  if (axis < -count || axis >= count) {
    does_not_fit(core::cat("axis ", axis, " of a tensor of ", dims, " dimensions"));
  }
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

const Sizes* OnnxCall::sizes(size_t place) const {
  return has(place) && inputs[place]->sizes ? &*inputs[place]->sizes : nullptr;
}

const Sizes* OnnxCall::sizes(size_t place, size_t least) const {
  const Sizes* found = sizes(place);
  if (found != nullptr && found->size() < least) {
    does_not_fit(core::cat("operand ", place, " has ", found->size(), " dimensions, expected ",
                           least, " or more"));
  }
  return found;
}

const Numbers* OnnxCall::numbers(size_t place) const {
  return has(place) && inputs[place]->numbers ? &*inputs[place]->numbers : nullptr;
}

const OnnxAttribute* OnnxCall::attribute(const std::string& name) const {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : &found->second;
}

int64_t OnnxCall::integer(const std::string& name, int64_t otherwise) const {
  const OnnxAttribute* found = attribute(name);
  return found == nullptr ? otherwise : found->integer.value_or(otherwise);
}

std::string OnnxCall::text(const std::string& name) const {
  const OnnxAttribute* found = attribute(name);
  return found == nullptr ? "" : found->text;
}

Sizes OnnxCall::integers(const std::string& name, size_t count, int64_t otherwise) const {
  const OnnxAttribute* found = attribute(name);
  if (found == nullptr || found->integers.empty()) return Sizes(count, otherwise);
  if (found->integers.size() != count) {
    does_not_fit(core::cat(name, " has ", found->integers.size(), " numbers, expected ", count));
  }
  return found->integers;
}

bool OnnxCall::given(size_t place, const std::string& name) const {
  return has(place) || attribute(name) != nullptr;
}

std::optional<Sizes> OnnxCall::list(size_t place, const std::string& name) const {
  if (has(place)) {
    const Numbers* found = numbers(place);
    if (found == nullptr) return {};
    Sizes out;
    for (const double number : found->values) out.push_back(to_integer(number));
    return out;
  }
  const OnnxAttribute* found = attribute(name);
  if (found == nullptr) return {};
  if (found->integer) return Sizes{*found->integer};
  return found->integers;
}

void OnnxCall::give(Sizes given_sizes, size_t place) {
  if (place < outputs.size()) outputs[place].sizes = std::move(given_sizes);
}

}  // namespace adagp::layers
