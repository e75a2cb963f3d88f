#pragma once
// One node of an ONNX graph with what is known of its operands: their sizes, and the numbers of
// those that say sizes themselves. Torch-free.

#include <optional>
#include <string>
#include <vector>

#include "adagp/sim/layers/onnx/file.h"

namespace adagp::layers {

using Sizes = std::vector<int64_t>;
constexpr size_t kNoOperand = SIZE_MAX;  // the place of what only an attribute says

struct OnnxValue {
  std::optional<Sizes> sizes;
  std::optional<Numbers> numbers;
};

struct OnnxCall {
  const OnnxNode& node;
  std::vector<const OnnxValue*> inputs;  // null: left out
  std::vector<OnnxValue> outputs;

  // Null where there is no such operand or its sizes are not known.
  const Sizes* sizes(size_t place) const;
  const Numbers* numbers(size_t place) const;
  bool has(size_t place) const { return place < inputs.size() && inputs[place] != nullptr; }
  // Throws DataError for fewer dimensions than `least`.
  const Sizes* sizes(size_t place, size_t least) const;

  const OnnxAttribute* attribute(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t otherwise) const;
  std::string text(const std::string& name) const;
  // Of an attribute; `otherwise` where it is not there. Throws DataError for another number of
  // them.
  Sizes integers(const std::string& name, size_t count, int64_t otherwise) const;
  // Integers of an operand, or where older versions of the operator have it, of an attribute. None:
  // not known, or not given (`given` tells which).
  std::optional<Sizes> list(size_t place, const std::string& name) const;
  bool given(size_t place, const std::string& name) const;

  void give(Sizes sizes, size_t place = 0);
};

// An axis counted from the front. Throws DataError where it is none of `dims`.
size_t axis_of(int64_t axis, size_t dims);
// Truncated towards zero, at the ends of the type where it is beyond them.
int64_t to_integer(double number);
// Throws DataError with this text; a caller adds the node.
[[noreturn]] void does_not_fit(const std::string& why);

}  // namespace adagp::layers
