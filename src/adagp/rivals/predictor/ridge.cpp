#include "adagp/rivals/predictor/ridge.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"

namespace adagp::predictor {

at::Tensor inverse_of(const at::Tensor& matrix) {
  at::Tensor a = matrix.clone();
  for (int64_t p = 0; p < a.size(0); ++p) {
    const at::Tensor pivot = a.select(0, p).select(0, p).clone();
    const at::Tensor row = a.select(0, p).div(pivot), column = a.select(1, p).clone();
    a.addr_(column, row, 1, -1);
    a.select(0, p).copy_(row);
    a.select(1, p).copy_(column.div(pivot).neg_());
    a.select(0, p).select(0, p).copy_(pivot.reciprocal());
  }
  return a;
}

Ridge::Ridge(std::vector<std::string> names, int64_t features, double decay, double ridge,
             at::TensorOptions options)
    : names_(std::move(names)),
      decay_(decay),
      ridge_(ridge),
      options_(options),
      dtype_(c10::typeMetaToScalarType(options.dtype())),
      gram_(at::zeros({features, features}, options.dtype(at::kDouble))),
      inverse_(at::zeros({features, features}, options.dtype(at::kDouble))),
      cross_(names_.size()) {}

const at::Tensor& Ridge::cross(size_t target, int64_t width) {
  at::Tensor& found = cross_[target];
  if (!found.defined()) found = at::zeros({gram_.size(0), width}, options_);
  if (found.size(1) != width) {
    throw UsageError("predictor: layer '" + names_[target] + "' made " +
                     std::to_string(found.size(1)) + " numbers an example and now " +
                     std::to_string(width) + ": this kind needs inputs of one size");
  }
  return found;
}

at::Tensor Ridge::observe(size_t target, const at::Tensor& features, const at::Tensor& values) {
  at::Tensor product = features.to(dtype_).t().mm(values.to(dtype_));
  cross(target, values.size(1)).mul_(decay_).add_(product);
  return product;
}

void Ridge::observe(const at::Tensor& features) {
  const at::Tensor f = features.to(at::kDouble);
  gram_.mul_(decay_).addmm_(f.t(), f);
  // Every feature in units of its own size; one that was never seen has no say.
  const at::Tensor size = gram_.diagonal();
  const at::Tensor unit = at::where(size.gt(0), size.rsqrt(), at::zeros_like(size));
  const at::Tensor outer = unit.unsqueeze(1).mul(unit.unsqueeze(0));
  at::Tensor scaled = gram_.mul(outer);
  scaled.diagonal().fill_(1 + ridge_);
  inverse_.copy_(inverse_of(scaled).mul_(outer));
}

at::Tensor Ridge::coefficients(const at::Tensor& features) const {
  return features.to(at::kDouble).mm(inverse_).to(dtype_);
}

at::Tensor Ridge::fitted(size_t target, int64_t width) {
  return inverse_.to(dtype_).mm(cross(target, width));
}

std::map<std::string, at::Tensor> Ridge::state() const {
  std::map<std::string, at::Tensor> out{{"ridge.gram", gram_}, {"ridge.inverse", inverse_}};
  for (size_t t = 0; t < cross_.size(); ++t) {
    if (cross_[t].defined()) out["ridge.cross." + names_[t]] = cross_[t];
  }
  return out;
}

void Ridge::load_state(const std::map<std::string, at::Tensor>& state) {
  for (auto [name, to] : {std::pair{"ridge.gram", &gram_}, std::pair{"ridge.inverse", &inverse_}}) {
    const auto found = state.find(name);
    if (found == state.end() || found->second.sizes() != to->sizes()) {
      throw DataError(std::string("predictor state: '") + name +
                      "' is missing or of another size: other predictor options?");
    }
    to->copy_(found->second);
  }
  for (size_t t = 0; t < cross_.size(); ++t) {
    const auto found = state.find("ridge.cross." + names_[t]);
    if (found == state.end()) continue;  // saved before it had seen a batch
    if (found->second.dim() != 2 || found->second.size(0) != gram_.size(0)) {
      throw DataError("predictor state: 'ridge.cross." + names_[t] + "' is of another size");
    }
    cross(t, found->second.size(1)).copy_(found->second);
  }
}

int64_t Ridge::count() const {
  int64_t sum = gram_.numel();
  for (const at::Tensor& cross : cross_) sum += cross.defined() ? cross.numel() : 0;
  return sum;
}

}  // namespace adagp::predictor
