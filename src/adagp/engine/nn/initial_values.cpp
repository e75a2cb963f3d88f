#include "adagp/engine/nn/initial_values.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/values_elsewhere.h"

namespace adagp::nn {
namespace {

thread_local NumberedTensors* numbered = nullptr;
thread_local WithoutValues* without_values = nullptr;

// Piece by piece: the largest parameter of VGG has 411 MB. ATen draws 16 normal numbers at a time,
// and others for a rest of less, so a piece is a multiple of 16 and the last one is no such rest.
template <typename Draw>
void draw_and_forget(int64_t count, Draw draw) {
  constexpr int64_t kPiece = 1 << 16;
  at::Tensor piece = at::empty({std::min(count, 2 * kPiece)});
  while (count > 0) {
    const int64_t now = count < 2 * kPiece ? count : kPiece;
    at::Tensor drawn = piece.narrow(0, 0, now);
    draw(drawn);
    count -= now;
  }
}

template <typename Draw>
void draw_into(at::Tensor& parameter, Draw draw) {
  const at::NoGradGuard no_grad;
  if (has_values(parameter)) {
    draw(parameter);
  } else {
    draw_and_forget(parameter.numel(), draw);
  }
}

}  // namespace

void draw_uniform(at::Tensor& parameter, double low, double high) {
  draw_into(parameter, [&](at::Tensor& values) { values.uniform_(low, high); });
}

void draw_normal(at::Tensor& parameter, double mean, double deviation) {
  draw_into(parameter, [&](at::Tensor& values) { values.normal_(mean, deviation); });
}

NumberedTensors::NumberedTensors() {
  numbered = this;
}
NumberedTensors::~NumberedTensors() {
  numbered = nullptr;
}

WithoutValues::WithoutValues(std::set<size_t> numbers) : numbers_(std::move(numbers)) {
  without_values = this;
}
WithoutValues::~WithoutValues() {
  without_values = nullptr;
}

at::Tensor make_tensor(at::IntArrayRef shape, at::TensorOptions options) {
  if (without_values != nullptr && without_values->numbers_.contains(without_values->next_++)) {
    return shape_without_values(shape, options);
  }
  at::Tensor made = at::empty(shape, options.device(shape_only() ? at::kMeta : at::kCPU));
  if (numbered != nullptr) numbered->all_.push_back(made);
  return made;
}

}  // namespace adagp::nn
