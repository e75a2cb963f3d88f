#include "adagp/teams/comm/flat_tensor.h"

namespace adagp::comm {
namespace {

bool in_one_piece(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense();
}

}  // namespace

at::Tensor row_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return in_one_piece(plain) ? plain.as_strided({plain.numel()}, {1})
                             : plain.contiguous().view({-1});
}

void put_row(const at::Tensor& row, const at::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  if (in_one_piece(tensor)) {
    row_of(tensor).copy_(row);
  } else {
    tensor.detach().copy_(row.view(tensor.sizes()));
  }
}

FlatTensor::FlatTensor(const at::Tensor& tensor, at::Device reach, bool filled)
    : tensor_(tensor.detach()) {
  const torch::NoGradGuard no_grad;
  if (tensor_.device().type() == reach.type() && (filled || in_one_piece(tensor_))) {
    row_ = row_of(tensor_);
    return;
  }
  const bool pinned = tensor_.is_cuda() && reach.is_cpu();  // copies from a GPU are quicker then
  row_ = at::empty({tensor_.numel()}, tensor_.options().device(reach).pinned_memory(pinned));
  if (filled) row_.copy_(row_of(tensor_));
}

void FlatTensor::arrive() {
  if (!row_.is_alias_of(tensor_)) put_row(row_, tensor_);
}

}  // namespace adagp::comm
