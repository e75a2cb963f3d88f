#include "adagp/method/weight_average.h"

#include <ATen/ATen.h>

#include "adagp/core/error.h"

namespace adagp::method {
namespace {

std::vector<at::Tensor> values_of(const step::Session& s) {
  std::vector<at::Tensor> out;
  for (const auto& param : s.optimizer->params()) out.push_back(param.value.detach());
  return out;
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
    : session_(session) {
  if (average.count_ == 0) return;
  const at::NoGradGuard no_grad;
  const auto values = values_of(session);
  for (size_t i = 0; i < values.size(); ++i) {
    kept_.push_back(values[i].clone());
    values[i].copy_(average.means_[i]);
  }
  session.optimizer->refresh_bf16_copies();
}

WeightAverage::Scope::~Scope() {
  if (kept_.empty()) return;
  const at::NoGradGuard no_grad;
  const auto values = values_of(session_);
  for (size_t i = 0; i < values.size(); ++i) values[i].copy_(kept_[i]);
  session_.optimizer->refresh_bf16_copies();
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
