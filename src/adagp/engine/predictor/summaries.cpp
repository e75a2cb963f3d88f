#include "adagp/engine/predictor/summaries.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/predictor/batch_mean.h"
#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/device/kernels.h"

namespace adagp::predictor {
namespace {

at::Tensor max_pooled(const at::Tensor& output, nn::LayerKind kind, int64_t size) {
  at::Tensor images;  // [C, 1, H, W] or [1, 1, H, W]
  if (kind == nn::LayerKind::kConv2d) {
    images = batch_mean(output).unsqueeze(1);
  } else if (output.dim() == 2) {
    const bool wide = output.scalar_type() == at::kDouble;
    images = output.to(wide ? at::kDouble : at::kFloat).unsqueeze(0).unsqueeze(0);
  } else {
    images = batch_mean(output).reshape({1, 1, -1, output.size(-1)});
  }
  return std::get<0>(at::adaptive_max_pool2d(images.contiguous(), {size, size})).flatten(1);
}

}  // namespace

at::Tensor reorganise(const at::Tensor& output, nn::LayerKind kind, int64_t size, Pooling pooling) {
  if (pooling == Pooling::kMaxima) return max_pooled(output, kind, size);
  const at::Tensor mean = batch_mean(output);
  at::Tensor planes;  // [C, 1, H, W]
  if (kind == nn::LayerKind::kConv2d) {
    planes = mean.unsqueeze(1);
  } else if (mean.dim() == 1) {
    return mean.unsqueeze(1).expand({mean.size(0), size * size});
  } else {
    const at::Tensor tokens = mean.reshape({-1, mean.size(-1)});  // [T, C]
    planes = tokens.t().reshape({tokens.size(1), 1, tokens.size(0), 1});
  }
  // Adaptive pooling also enlarges: a window narrower than a pixel repeats that pixel.
  return at::adaptive_avg_pool2d(planes, {size, size}).flatten(1);
}

Summaries::Summaries(std::vector<nn::WeightLayer*> layers, int64_t size, Pooling pooling)
    : layers_(std::move(layers)),
      seen_(layers_.size(), 0),
      reported_(layers_.size(), 0),
      size_(size),
      pooling_(pooling),
      cells_(layers_.size()) {
  if (layers_.empty())
    throw Error("the model has no tapped layer: use adagp::nn::Conv2d or Linear");
  int64_t filters = 0;
  for (const auto* layer : layers_) {
    places_[layer] = offsets_.size();
    offsets_.push_back(filters);
    filters += rows_of(*layer);
  }
  const auto& weight = layers_.front()->weight;
  const auto dtype = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  rows_ = at::zeros({filters, size * size}, at::TensorOptions(weight.device()).dtype(dtype));
}

void Summaries::begin(int64_t parts) {
  parts_ = parts;
  std::fill(seen_.begin(), seen_.end(), 0);
  std::fill(reported_.begin(), reported_.end(), 0);
  for (nn::SummaryCells& cells : cells_) cells.queued = false;
  parts_seen_.clear();
  for (auto& [layer, input] : kept_inputs_) input.reset();
  pending_.clear();
}

int64_t Summaries::rows_of(const nn::WeightLayer& layer) const {
  const bool one = pooling_ == Pooling::kMaxima && layer.info().kind != nn::LayerKind::kConv2d;
  return one ? 1 : layer.info().rows();
}

at::Tensor Summaries::rows(size_t index) const {
  return rows_.narrow(0, offsets_[index], rows_of(*layers_[index]));
}

size_t Summaries::checked_index(const nn::WeightLayer& layer) const {
  const auto found = places_.find(&layer);
  if (found == places_.end()) {
    throw Error(core::cat("layer '", layer.path(), "' reports to a tap it was not collected for"));
  }
  return found->second;
}

std::optional<nn::TapSink::SummaryTarget> Summaries::summary_target(const nn::WeightLayer& layer) {
  // The kernels pool by means.
  if (layer.frozen() || pooling_ != Pooling::kMeans) return {};
  const size_t index = checked_index(layer);
  if (kept_inputs_.contains(index) || rows_.scalar_type() != at::kFloat) return {};
  SummaryTarget target{rows(index), static_cast<int>(size_), static_cast<int>(++seen_[index])};
  if (target.use == 1) {
    // The first use overwrites, so all layers' rows can be made together at the end.
    target.cells = &cells_[index];
    pending_.push_back(index);
  } else {
    make_all_rows();
  }
  return target;
}

void Summaries::on_summary(const nn::WeightLayer&) {
  if (watch_) watch_();
}

void Summaries::end() {
  make_all_rows();
  each_used_once_ = parts_ == 1 && parts_seen_.empty() &&
                    std::all_of(seen_.begin(), seen_.end(), [](int64_t n) { return n == 1; });
}

std::vector<size_t> Summaries::take_rows(const std::vector<char>& which) {
  std::vector<size_t> taken, later;
  for (const size_t index : pending_) {
    const bool ready = which[index] != 0 && cells_[index].queued;
    (ready ? taken : later).push_back(index);
  }
  pending_ = std::move(later);
  return taken;
}

void Summaries::make_rows(const std::vector<size_t>& layers) {
  std::vector<cuda::PoolArgs> args;
  for (const size_t index : layers) {
    cuda::PoolArgs a;
    a.cells = cells_[index].sums.const_data_ptr<float>();
    a.map = cells_[index].map;
    a.summary = rows(index).mutable_data_ptr<float>();
    args.push_back(a);
  }
  if (args.empty()) return;
  cuda::pool_cells(args.data(), static_cast<int64_t>(args.size()), static_cast<int>(size_),
                   device::stream(rows_.device()));
}

void Summaries::make_all_rows() {
  make_rows(take_rows(std::vector<char>(layers_.size(), 1)));
}

bool Summaries::summarise_by_kernel(const at::Tensor& output, nn::LayerKind kind,
                                    SummaryTarget target) {
  if (!device::has_kernels(output.device()) || !device::has_type(output) ||
      target.rows.scalar_type() != at::kFloat || pooling_ != Pooling::kMeans) {
    return false;
  }
  cuda::StatsArgs a;
  at::Tensor dense;
  if (kind == nn::LayerKind::kConv2d) {
    dense = device::channels_last(output);
    a.map = device::map_of(dense);
  } else {
    dense = output.contiguous();  // [B, C] or [B, T..., C]
    const int64_t tokens = dense.numel() / (dense.size(0) * dense.size(-1));
    a.map = {dense.size(0), tokens, 1, dense.size(-1)};
  }
  a.x = dense.const_data_ptr();
  a.type = device::type_of(dense);
  a.summary = target.rows.mutable_data_ptr<float>();
  a.size = target.size;
  a.use = target.use;
  a.workspace = device::scratch(device::Scratch::kStats, dense.device(),
                                cuda::stats_workspace(a.map, a.size));
  cuda::norm_stats(a, device::stream(dense.device()));
  return true;
}

void Summaries::summarise(const at::Tensor& output, nn::LayerKind kind, const at::Tensor& to,
                          int64_t use) {
  RECORD_USER_SCOPE("adagp::summarise");  // for experiment/kind_timer.h
  if (summarise_by_kernel(output, kind, {to, static_cast<int>(size_), static_cast<int>(use)})) {
    return;
  }
  const at::Tensor summary = reorganise(output, kind, size_, pooling_);
  if (use == 1) {
    to.copy_(summary);
  } else {
    to.add_(summary.sub(to).div_(static_cast<double>(use)));
  }
}

void Summaries::on_part(const nn::WeightLayer& layer, int64_t first, const at::Tensor&,
                        const at::Tensor& output) {
  if (layer.frozen()) return;
  const at::NoGradGuard no_grad;
  const size_t index = checked_index(layer);
  // A layer of one row has the mean of its parts there.
  const bool one = pooling_ == Pooling::kMaxima;
  summarise(output.detach(), layer.info().kind,
            one ? rows(index) : rows(index).narrow(0, first, output.size(-1)),
            one ? ++seen_[index] : ++parts_seen_[{index, first}]);
}

void Summaries::on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                          const at::Tensor& output) {
  if (layer.frozen()) return;
  const at::NoGradGuard no_grad;
  const size_t index = checked_index(layer);
  // A layer used twice in one pass, or in several micro-batches, contributes the mean of its uses.
  summarise(output.detach(), layer.info().kind, rows(index), ++seen_[index]);
  reported_[index] = 1;
  if (const auto kept = kept_inputs_.find(index); kept != kept_inputs_.end()) {
    at::Tensor& all = kept->second;
    all = all.defined() && parts_ > 1 ? at::cat({all, input.detach()}) : input.detach();
  }
  if (watch_) watch_();
}

}  // namespace adagp::predictor
