#pragma once
// Tensors as a backend takes them: one row of elements, in memory it can reach.

#include <torch/types.h>

namespace adagp::comm {

// A tensor and the row that travels for it: the tensor's own memory where that is one dense piece
// the backend can reach, else a copy.
class FlatTensor {
 public:
  // `reach`: whose memory the backend takes. `filled`: the row holds the tensor's values.
  FlatTensor(const at::Tensor& tensor, at::Device reach, bool filled);

  at::Tensor& row() { return row_; }  // [n]
  // After something arrived in the row: into the tensor, if that is elsewhere.
  void arrive();
  bool empty() const { return tensor_.numel() == 0; }

 private:
  at::Tensor tensor_;
  at::Tensor row_;
};

// The elements in the order of memory, if they are one piece without gaps; else a copy of them in
// the order of indices.
at::Tensor row_of(const at::Tensor& tensor);
// The other way: a row's elements into a tensor.
void put_row(const at::Tensor& row, const at::Tensor& tensor);

}  // namespace adagp::comm
