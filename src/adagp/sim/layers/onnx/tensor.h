#pragma once
// TensorProto of onnx.proto: sizes, and the numbers of small tensors. Torch-free.

#include <string_view>
#include <vector>

#include "adagp/base/io/wire_reader.h"
#include "adagp/sim/layers/onnx/file.h"

namespace adagp::layers {

constexpr size_t kMostSizes = 32;  // of one tensor

// Throws DataError for negative sizes and for too many.
std::vector<int64_t> checked_sizes(std::vector<int64_t> sizes, const std::string& name);
// Appends 32-bit floats: packed, or one of them; no more than a small tensor has.
void add_reals(const io::WireField& field, std::vector<double>& numbers);

// The fields of one message; numbers stay where they are until it is clear that they are few.
struct TensorFields {
  void take(const io::WireField& field);
  OnnxTensor tensor() const;

 private:
  std::optional<Numbers> numbers(size_t count) const;

  std::string_view name_;
  std::vector<int64_t> sizes_;
  int64_t type_ = 0;
  std::string_view raw_;
  std::vector<double> reals_;      // float_data, double_data
  std::vector<int64_t> integers_;  // int32_data, int64_data, uint64_data
  bool outside_ = false;           // in another file
};

}  // namespace adagp::layers
