#include "adagp/engine/metrics/meters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::metrics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void check_meter_state(const char* what, const std::vector<double>& state, size_t expected) {
  if (state.size() == expected) return;
  throw DataError(core::cat("saved ", what, ": ", state.size(), " numbers, expected ", expected));
}

}  // namespace

void TopK::add(const at::Tensor& logits, const at::Tensor& labels) {
  if (logits.dim() != 2 || labels.dim() != 1 || labels.size(0) != logits.size(0)) {
    throw Error(core::cat("top-k: logits ", logits.sizes(), " and labels ", labels.sizes(),
                          ", expected [N, classes] and [N]"));
  }
  at::NoGradGuard no_grad;
  const int64_t k = std::min<int64_t>(5, logits.size(1));
  const at::Tensor ranks = std::get<1>(logits.topk(k, 1));               // [N, k]
  const at::Tensor hits = ranks.eq(labels.unsqueeze(1)).sum(/*dim=*/0);  // [k] int64
  if (ranked_.defined()) {
    ranked_ += hits;
  } else {
    ranked_ = hits;
  }
  count_ += logits.size(0);
}

TopK::Hits TopK::hits() const {
  Hits out = loaded_;
  if (!ranked_.defined()) return out;
  const at::Tensor host = ranked_.cpu();
  out.first += host[0].item<int64_t>();
  out.five += host.sum().item<int64_t>();
  return out;
}

TopK::Value TopK::value() const {
  if (count_ == 0) return {kNone, kNone};
  const Hits now = hits();
  const double percent = 100.0 / static_cast<double>(count_);
  return {static_cast<double>(now.first) * percent, static_cast<double>(now.five) * percent};
}

void TopK::reset() {
  *this = TopK();
}

std::vector<double> TopK::state() const {
  const Hits now = hits();
  return {static_cast<double>(count_), static_cast<double>(now.first),
          static_cast<double>(now.five)};
}

void TopK::load_state(const std::vector<double>& state) {
  check_meter_state("top-k", state, 3);
  reset();
  count_ = std::llround(state[0]);
  loaded_ = {std::llround(state[1]), std::llround(state[2])};
}

void Mean::add(const at::Tensor& scalar, int64_t weight) {
  if (scalar.numel() != 1) throw Error(core::cat("mean: a tensor of shape ", scalar.sizes()));
  at::NoGradGuard no_grad;
  const at::Tensor value = scalar.detach().reshape({});
  if (!device_sum_.defined()) device_sum_ = at::zeros({}, value.options().dtype(at::kDouble));
  device_sum_.add_(value, static_cast<double>(weight));
  weight_ += weight;
}

void Mean::add(double value, int64_t weight) {
  host_sum_ += value * static_cast<double>(weight);
  weight_ += weight;
}

double Mean::value() const {
  return weight_ == 0 ? kNone : state()[0] / static_cast<double>(weight_);
}

void Mean::reset() {
  *this = Mean();
}

std::vector<double> Mean::state() const {
  const double on_device = device_sum_.defined() ? device_sum_.item<double>() : 0.0;
  return {host_sum_ + on_device, static_cast<double>(weight_)};
}

void Mean::load_state(const std::vector<double>& state) {
  check_meter_state("mean", state, 2);
  reset();
  host_sum_ = state[0];
  weight_ = std::llround(state[1]);
}

}  // namespace adagp::metrics
