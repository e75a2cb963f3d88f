#include "adagp/rivals/method/weight_average.h"

#include <utility>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"

namespace adagp::method {
namespace {

std::vector<at::Tensor> values_of(const step::Session& s) {
  std::vector<at::Tensor> out;
  for (const auto& param : s.optimizer->params()) out.push_back(param.value.detach());
  return out;
}

void set_values(step::Session& s, const std::vector<at::Tensor>& given) {
  const at::NoGradGuard no_grad;
  const auto values = values_of(s);
  for (size_t i = 0; i < values.size(); ++i) values[i].copy_(given[i]);
  s.optimizer->refresh_bf16_copies();
}

constexpr auto kCount = "count";

}  // namespace

void WeightAverage::add(const step::Session& s) {
  const at::NoGradGuard no_grad;
  const auto values = values_of(s);
  if (means_.empty()) {
    for (const at::Tensor& value : values) means_.push_back(at::empty_like(value));
  }
  ++count_;
  if (count_ == 1) {
    for (size_t i = 0; i < values.size(); ++i) means_[i].copy_(values[i]);
  } else {
    at::_foreach_lerp_(means_, values, 1.0 / static_cast<double>(count_));
  }
}

WeightAverage::Scope::Scope(const WeightAverage& average, step::Session& session)
    : restoration_(session, "the weights before their mean was looked at", [this, &session] {
        if (!kept_.empty()) set_values(session, kept_);
      }) {
  if (average.count_ == 0) return;
  std::vector<at::Tensor> copies;
  for (const at::Tensor& value : values_of(session)) copies.push_back(value.clone());
  kept_ = std::move(copies);
  set_values(session, average.means_);
}

std::map<std::string, at::Tensor> WeightAverage::state(const step::Session& s) const {
  if (count_ == 0) return {};
  std::map<std::string, at::Tensor> out{{kCount, at::tensor(count_, at::kLong)}};
  for (size_t i = 0; i < means_.size(); ++i) {
    out["mean." + s.optimizer->params()[i].name] = means_[i];
  }
  return out;
}

void WeightAverage::load_state(const step::Session& s,
                               const std::map<std::string, at::Tensor>& state) {
  clear();
  const auto count = state.find(kCount);
  if (count == state.end()) return;
  add(s);  // for the shapes
  for (size_t i = 0; i < means_.size(); ++i) {
    const auto found = state.find("mean." + s.optimizer->params()[i].name);
    if (found == state.end()) {
      throw DataError("method state: no mean of " + s.optimizer->params()[i].name);
    }
    means_[i].copy_(found->second);
  }
  count_ = count->second.item<int64_t>();
}

}  // namespace adagp::method
