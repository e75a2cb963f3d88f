#include "adagp/sim/layers/onnx/tensor.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::layers {
namespace {

using io::Wire;
using io::WireField;
using io::WireReader;

enum Type : int64_t {  // of onnx.proto
  kFloat = 1,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kInt32,
  kInt64,
  kString,
  kBool,
  kFloat16,
  kDouble,
  kUint32,
  kUint64,
  kComplex64,
  kComplex128
};

bool is_index(int64_t type) {  // sizes, axes and conditions are of these
  return type == kInt32 || type == kInt64 || type == kBool || type == kUint32 || type == kUint64;
}

// Weights also are small integers; a constant of sizes is never learnt.
bool may_be_learnt(int64_t type) {
  return !is_index(type) && type != kString;
}

template <typename T>
std::vector<double> numbers_of(std::string_view raw) {
  std::vector<double> out;
  WireReader reader(raw);
  while (!reader.empty()) out.push_back(static_cast<double>(reader.fixed<T>()));
  return out;
}

std::vector<double> raw_numbers(std::string_view raw, int64_t type) {
  switch (type) {
    case kFloat:
      return numbers_of<float>(raw);
    case kDouble:
      return numbers_of<double>(raw);
    case kInt32:
      return numbers_of<int32_t>(raw);
    case kUint32:
      return numbers_of<uint32_t>(raw);
    case kInt64:
      return numbers_of<int64_t>(raw);
    case kUint64:
      return numbers_of<uint64_t>(raw);
    case kBool:
      return numbers_of<uint8_t>(raw);
    default:
      return {};
  }
}

void add_doubles(const WireField& field, std::vector<double>& numbers) {
  if (field.type == Wire::kFixed64) numbers.push_back(field.number64());
  WireReader packed(field.bytes);
  while (!packed.empty() && numbers.size() <= kMostNumbers) {
    numbers.push_back(packed.fixed<double>());
  }
}

}  // namespace

std::vector<int64_t> checked_sizes(std::vector<int64_t> sizes, const std::string& name) {
  if (sizes.size() > kMostSizes) throw DataError("tensor '" + name + "' has too many sizes");
  for (const int64_t size : sizes) {
    if (size < 0) throw DataError(core::cat("tensor '", name, "' has the negative size ", size));
  }
  return sizes;
}

void add_reals(const WireField& field, std::vector<double>& numbers) {
  if (field.type == Wire::kFixed32) numbers.push_back(static_cast<double>(field.real()));
  WireReader packed(field.bytes);
  while (!packed.empty() && numbers.size() <= kMostNumbers) {
    numbers.push_back(static_cast<double>(packed.fixed<float>()));
  }
}

void TensorFields::take(const WireField& field) {
  const int64_t number = field.number;
  if (number == 1) io::add_integers(field, sizes_, kMostSizes);
  if (number == 2) type_ = field.integer();
  if (number == 4) add_reals(field, reals_);
  if (number == 5 || number == 7 || number == 11) {
    io::add_integers(field, integers_, kMostNumbers);
  }
  if (number == 8) name_ = field.bytes;
  if (number == 9) raw_ = field.bytes;
  if (number == 10) add_doubles(field, reals_);
  if (number == 14) outside_ = field.value == 1;
}

std::optional<Numbers> TensorFields::numbers(size_t count) const {
  if (outside_) return {};
  Numbers out;
  out.whole = is_index(type_);
  if (!raw_.empty()) {
    if (raw_.size() > 8 * kMostNumbers) return {};
    out.values = raw_numbers(raw_, type_);
  } else if (type_ == kFloat || type_ == kDouble) {
    out.values = reals_;
  } else if (is_index(type_)) {
    out.values.assign(integers_.begin(), integers_.end());
  }
  if (out.values.size() != count) return {};
  return out;
}

OnnxTensor TensorFields::tensor() const {
  OnnxTensor out;
  if (name_.size() > kLongestText) throw DataError("has a tensor with too long a name");
  out.name = name_;
  out.sizes = checked_sizes(sizes_, out.name);
  out.learnt = may_be_learnt(type_);
  size_t count = 1;
  for (const int64_t size : out.sizes) {
    if (size != 0 && count > kMostNumbers / static_cast<size_t>(size)) return out;
    count *= static_cast<size_t>(size);
  }
  out.numbers = numbers(count);
  return out;
}

}  // namespace adagp::layers
