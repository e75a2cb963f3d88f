#include "adagp/engine/method/probes.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/metrics/timer.h"
#include "adagp/engine/predictor/layout.h"

namespace adagp::method {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Raw sums of one layer, as columns of the tensor that is read once per probe.
enum Sum {
  kHG,
  kHH,
  kGG,
  kError,
  kSpread,
  kPercent,
  kCounted,
  kHBefore,
  kGBefore,
  kMeanHG,
  kMeanHH,
  kMeanGG,
  kSums
};

at::Tensor flat_view(const at::Tensor& gradient) {
  return predictor::as_rows(gradient).reshape({-1});
}

// At most kSampled entries of a flat gradient. The step is odd, so that it walks through all places
// of rows whose length is a power of two.
at::Tensor sampled(const at::Tensor& flat) {
  const int64_t step = (flat.numel() + ProbeValues::kSampled - 1) / ProbeValues::kSampled;
  return flat.slice(0, 0, flat.numel(), step + (step > 1 && step % 2 == 0 ? 1 : 0));
}

class MeasuringSink : public predictor::GradientSink {
 public:
  MeasuringSink(const std::vector<at::Tensor>& gradients, const std::vector<at::Tensor>& before,
                const std::vector<at::Tensor>& totals, at::Tensor& sums)
      : gradients_(gradients), before_(before), totals_(totals), sums_(sums) {
    sums_.fill_(kNaN);
  }

  void accept(size_t layer, const at::Tensor& gradient) override {
    const at::Tensor h = flat_view(gradient);
    const at::Tensor g = flat_view(gradients_[layer]).to(h.scalar_type());
    const at::Tensor error = h.sub(g);
    const at::Tensor size = g.abs();
    const at::Tensor some = size.gt(0);
    const at::Tensor centred = g.sub(g.mean());
    const at::Tensor percent = at::where(some, error.abs().div(size), at::zeros({}, g.options()));
    std::vector<at::Tensor> found{at::dot(h, g),
                                  at::dot(h, h),
                                  at::dot(g, g),
                                  at::dot(error, error),
                                  at::dot(centred, centred),
                                  percent.sum(),
                                  some.sum()};
    if (!before_.empty()) {
      found.push_back(at::dot(h, before_[layer]));
      found.push_back(at::dot(g, before_[layer]));
    }
    put(layer, kHG, found);
    const at::Tensor& total = totals_[layer];
    total[0].add_(sampled(h));
    total[1].add_(sampled(g));
    put(layer, kMeanHG,
        {at::dot(total[0], total[1]), at::dot(total[0], total[0]), at::dot(total[1], total[1])});
  }

 private:
  void put(size_t layer, Sum first, std::vector<at::Tensor> values) {
    for (at::Tensor& value : values) value = value.to(at::kDouble);
    sums_[static_cast<int64_t>(layer)]
        .narrow(0, first, static_cast<int64_t>(values.size()))
        .copy_(at::stack(values));
  }
  const std::vector<at::Tensor>& gradients_;
  const std::vector<at::Tensor>& before_;
  const std::vector<at::Tensor>& totals_;
  at::Tensor& sums_;
};

ProbeValues values_of(const double* s, double entries) {
  ProbeValues v;
  v.cosine = s[kHG] / std::sqrt(s[kHH] * s[kGG]);
  v.relative_error = std::sqrt(s[kError] / s[kGG]);
  v.norm_ratio = std::sqrt(s[kHH] / s[kGG]);
  v.r2 = 1.0 - s[kError] / s[kSpread];
  v.mse = s[kError] / entries;
  v.mape = 100.0 * s[kPercent] / s[kCounted];
  v.q = s[kHBefore] / s[kGBefore];
  v.bias = s[kMeanHG] / std::sqrt(s[kMeanHH] * s[kMeanGG]);
  return v;
}

}  // namespace

const std::vector<std::string>& ProbeValues::names() {
  static const std::vector<std::string> list{"cosine", "relative_error", "norm_ratio", "r2",
                                             "mse",    "mape",           "q",          "bias"};
  return list;
}

std::vector<double> ProbeValues::list() const {
  return {cosine, relative_error, norm_ratio, r2, mse, mape, q, bias};
}

Probes::Turn Probes::turn(int64_t count) const {
  if (every_ <= 0) return {};
  return {count > 0 && count % every_ == 0, (count + 1) % every_ == 0};
}

void Probes::begin(const Turn& turn) {
  turn_ = turn;
  if (!turn.measure) kept_ = false;
}

void Probes::see(const std::vector<at::Tensor>& gradients, const Emit& emit) {
  const metrics::Stopwatch watch;
  const at::Device device = gradients.front().device();
  if (turn_.measure) {
    if (!sums_.defined()) {
      sums_ = at::empty({static_cast<int64_t>(layers_), kSums},
                        at::TensorOptions(device).dtype(at::kDouble));
      for (const auto& gradient : gradients) {
        sizes_.push_back(static_cast<double>(gradient.numel()));
      }
    }
    for (at::Tensor& kept : before_) kept = kept.to(device);  // a restored one is on the CPU
    totals_.resize(layers_);
    for (size_t l = 0; l < layers_; ++l) {
      at::Tensor& total = totals_[l];
      if (total.defined()) {
        total = total.to(device);  // a restored one is on the CPU, too
        continue;
      }
      const bool precise = gradients[l].scalar_type() == at::kDouble;
      total = at::zeros({2, sampled(flat_view(gradients[l])).numel()},
                        at::TensorOptions(device).dtype(precise ? at::kDouble : at::kFloat));
    }
    MeasuringSink sink(gradients, before_, totals_, sums_);
    emit(sink);
  }
  if (turn_.keep) {
    // Flat, as a checkpoint would not keep the memory layout that the order depends on.
    before_.resize(layers_);
    for (size_t l = 0; l < layers_; ++l) {
      const at::Tensor flat = flat_view(gradients[l]);
      const auto dtype = flat.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
      if (!before_[l].defined()) before_[l] = at::empty(flat.sizes(), flat.options().dtype(dtype));
      before_[l].copy_(flat);
    }
  }
  if (device.is_cpu()) seconds_ += watch.seconds();
}

void Probes::end() {
  if (turn_.measure) waiting_.push_back(sums_.clone());
  kept_ = turn_.keep;
}

void Probes::collect() {
  for (const at::Tensor& waiting : waiting_) {
    const at::Tensor sums = waiting.cpu();
    last_.clear();
    double h_before = 0, g_before = 0;
    for (size_t l = 0; l < layers_; ++l) {
      const double* row = sums.const_data_ptr<double>() + l * kSums;
      last_.push_back(values_of(row, sizes_[l]));
      if (std::isfinite(last_.back().cosine)) {
        cosine_sum_ += last_.back().cosine;
        ++cosine_count_;
      }
      h_before += row[kHBefore];
      g_before += row[kGBefore];
    }
    // q of the whole network and the whole run is a ratio of sums: a single <g, G> can vanish.
    if (std::isfinite(h_before) && std::isfinite(g_before)) {
      h_before_sum_ += h_before;
      g_before_sum_ += g_before;
    }
    ++probes_;
  }
  waiting_.clear();
}

std::optional<double> Probes::mean_cosine() const {
  if (cosine_count_ == 0) return {};
  return cosine_sum_ / static_cast<double>(cosine_count_);
}

std::optional<double> Probes::mean_q() const {
  if (g_before_sum_ == 0) return {};
  return h_before_sum_ / g_before_sum_;
}

namespace {

// Over the layers for which it is defined.
std::optional<double> mean_of(const std::vector<ProbeValues>& layers, double ProbeValues::*value) {
  double sum = 0;
  int64_t count = 0;
  for (const auto& values : layers) {
    if (!std::isfinite(values.*value)) continue;
    sum += values.*value;
    ++count;
  }
  if (count == 0) return {};
  return sum / static_cast<double>(count);
}

}  // namespace

std::optional<double> Probes::last_cosine() const {
  return mean_of(last_, &ProbeValues::cosine);
}

std::optional<double> Probes::bias() const {
  return mean_of(last_, &ProbeValues::bias);
}

std::map<std::string, at::Tensor> Probes::state() const {
  at::Tensor sums = at::empty({5}, at::kDouble);
  double* to = sums.mutable_data_ptr<double>();
  to[0] = static_cast<double>(probes_);
  to[1] = cosine_sum_;
  to[2] = static_cast<double>(cosine_count_);
  to[3] = h_before_sum_;
  to[4] = g_before_sum_;
  std::map<std::string, at::Tensor> out{{"sums", sums}};
  for (size_t l = 0; l < totals_.size(); ++l) out["total." + std::to_string(l)] = totals_[l];
  at::Tensor last = at::empty(
      {static_cast<int64_t>(last_.size()), static_cast<int64_t>(ProbeValues::names().size())},
      at::kDouble);
  for (size_t l = 0; l < last_.size(); ++l) {
    const auto values = last_[l].list();
    std::copy(values.begin(), values.end(), last.mutable_data_ptr<double>() + l * values.size());
  }
  out["last"] = last;
  if (!kept_) return out;
  for (size_t l = 0; l < before_.size(); ++l) out["before." + std::to_string(l)] = before_[l];
  return out;
}

void Probes::load_state(const std::map<std::string, at::Tensor>& state) {
  const auto sums = state.find("sums");
  const auto last = state.find("last");
  if (sums == state.end() || last == state.end() || sums->second.numel() != 5) {
    throw DataError("probe state is missing or of another size");
  }
  const double* from = sums->second.const_data_ptr<double>();
  probes_ = static_cast<int64_t>(from[0]);
  cosine_sum_ = from[1];
  cosine_count_ = static_cast<int64_t>(from[2]);
  h_before_sum_ = from[3];
  g_before_sum_ = from[4];
  last_.clear();
  const auto count = static_cast<int64_t>(ProbeValues::names().size());
  if (last->second.dim() != 2 || last->second.size(1) != count) {
    throw DataError("probe state: other figures than this program's: made by another version?");
  }
  for (int64_t l = 0; l < last->second.size(0); ++l) {
    const double* v = last->second.const_data_ptr<double>() + count * l;
    last_.push_back({v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]});
  }
  totals_.clear();
  for (size_t l = 0; state.contains("total." + std::to_string(l)); ++l) {
    totals_.push_back(state.at("total." + std::to_string(l)).clone());
  }
  before_.clear();
  for (size_t l = 0; state.contains("before." + std::to_string(l)); ++l) {
    before_.push_back(state.at("before." + std::to_string(l)).clone());
  }
  kept_ = !before_.empty();
}

}  // namespace adagp::method
