#include "adagp/rivals/step/fast_widths.h"

#include <ATen/ATen.h>

#include "adagp/base/core/duration.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/step/observe.h"
#include "adagp/engine/step/team.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/rivals/step/parts.h"

namespace adagp::step {
namespace {

constexpr int32_t kLow = 2, kHigh = 4, kNotRounded = 0;
constexpr int32_t kMostBitsOfBf16 = 8;
constexpr double kHalf = 0.5;

cuda::Rounding rounding_of(const std::string& name) {
  if (name == "truncate") return cuda::Rounding::kTruncate;
  return name == "nearest" ? cuda::Rounding::kNearest : cuda::Rounding::kStochastic;
}

// r = sum |BFP(X, 4) - BFP(X, 2)| / sum |BFP(X, 2)|, of every operand in the axis of its first
// product. Rounded to nearest: with truncation nearly everything would need four bits.
class LossSink : public nn::TapSink {
 public:
  LossSink(const std::vector<nn::WeightLayer*>& layers, const nn::FastShared& shared,
           at::Device device)
      : shared_(shared),
        sums_(at::zeros({static_cast<int64_t>(layers.size()), 3, 2},
                        at::device(device).dtype(at::kDouble))),
        low_(at::full({1}, kLow, at::device(device).dtype(at::kInt))),
        high_(at::full({1}, kHigh, at::device(device).dtype(at::kInt))) {
    for (size_t l = 0; l < layers.size(); ++l) places_[layers[l]] = static_cast<int64_t>(l);
  }

  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override {
    const auto place = places_.find(&layer);
    if (place == places_.end()) return;
    const int64_t l = place->second;
    const nn::LayerInfo info = layer.info();
    const at::Tensor w = nn::in_group_order(layer.weight.detach(), info);
    add(l, nn::Operand::kWeight, w, nn::along_inputs(w));
    const at::Tensor x = nn::in_group_order(input.detach(), info);
    add(l, nn::Operand::kActivation, x, nn::along_channels(x, info));
    if (!output.requires_grad()) return;
    output.register_hook([this, l, info](const at::Tensor& gradient) {
      const at::Tensor dy = nn::in_group_order(gradient, info);
      add(l, nn::Operand::kGradient, dy, nn::along_channels(dy, info));
    });
  }

  at::Tensor losses() const {  // float [layers, 3] on the CPU
    const at::Tensor sums = sums_.cpu();
    return sums.select(2, 0).div(sums.select(2, 1)).nan_to_num(0, 0, 0).to(at::kFloat);
  }

 private:
  void add(int64_t layer, nn::Operand operand, const at::Tensor& x, const nn::GroupAxis& axis) {
    const at::NoGradGuard no_grad;
    const auto rounded = [&](const at::Tensor& width) {
      return nn::block_float(x, axis, width, cuda::Rounding::kNearest, shared_, 0, at::kFloat);
    };
    const at::Tensor low = rounded(low_);
    at::Tensor to = sums_[layer][static_cast<int64_t>(operand)];
    to[0].add_(rounded(high_).sub_(low).abs_().sum(at::kDouble));
    to[1].add_(low.abs().sum(at::kDouble));
  }

  const nn::FastShared& shared_;
  at::Tensor sums_, low_, high_;
  std::map<const nn::WeightLayer*, int64_t> places_;
};

}  // namespace

double fast_limit(double alpha, double beta, double progress, int64_t layer, int64_t layers) {
  return alpha - beta * progress - beta * static_cast<double>(layer) / static_cast<double>(layers);
}

FastWidths::FastWidths(const std::vector<nn::WeightLayer*>& layers, const config::RunConfig& config,
                       at::Device device)
    : layers_(layers),
      options_(config.parts.get<rivals::FastOptions>()),
      seed_(config.seed),
      shared_(std::make_shared<nn::FastShared>()) {
  if (const std::string why = device::why_no_kernels(device); !why.empty()) {
    throw UsageError("precision = fast needs the program's kernels on a GPU: " + why +
                     "; use device = cpu, or precision = bf16");
  }
  const bool adaptive = options_.rule == "adaptive";
  // batches(1): the unit is checked to be batches (config::validate).
  if (adaptive) every_ = core::Duration::parse(options_.every).batches(1);
  shared_->of_gradients = rounding_of(options_.rounding);
  shared_->of_others =
      options_.rounding == "truncate" ? cuda::Rounding::kTruncate : cuda::Rounding::kNearest;
  shared_->exponent_bits = static_cast<int>(options_.exponent_bits);
  shared_->regroup = options_.regroup;
  shared_->bf16 = device.is_cuda() &&
                  (adaptive || (options_.rule == "fixed" && options_.mantissa <= kMostBitsOfBf16));
  // TF32 would keep ten bits of wider mantissas.
  if (device.is_cuda() && !shared_->bf16) without_tf32_.emplace();
  shared_->seed = at::zeros({1}, at::device(device).dtype(at::kLong));
  const auto count = static_cast<int64_t>(layers.size());
  widths_ = at::zeros({count, 3}, at::device(device).dtype(at::kInt));
  r_ = at::zeros({count, 3}, at::kFloat);
  set_all(adaptive ? kHigh : static_cast<int32_t>(options_.mantissa));
  for (int64_t l = 0; l < count; ++l) {
    const bool first_half = 2 * l < count;
    if (options_.rule == (first_half ? "layerwise-high-to-low" : "layerwise-low-to-high")) {
      widths_[l].fill_(kNotRounded);
    }
    layers[static_cast<size_t>(l)]->rule = std::make_shared<nn::FastLayer>(shared_, widths_[l]);
  }
  begin_step(0);
}

void FastWidths::set_all(int32_t width) {
  widths_.fill_(width);
}

void FastWidths::begin_step(int64_t step) {
  const uint64_t seed =
      core::mix({static_cast<uint64_t>(seed_), static_cast<uint64_t>(step), 0x66617374ULL});
  shared_->seed.fill_(static_cast<int64_t>(seed));
  shared_->products = 0;
}

void FastWidths::before_batch(Session& s, const data::Batch& batch, int64_t step, double progress) {
  const at::NoGradGuard no_grad;
  begin_step(step);
  const bool late = progress >= kHalf;
  if (options_.rule == "temporal-low-to-high" || options_.rule == "temporal-high-to-low") {
    const bool low = (options_.rule == "temporal-low-to-high") != late;
    set_all(low ? static_cast<int32_t>(options_.mantissa) : kNotRounded);
  }
  if (every_ == 0 || step % every_ != 0 || batch.empty()) return;
  decide(s, batch, progress);
  begin_step(step);
}

void FastWidths::decide(Session& s, const data::Batch& batch, double progress) {
  LossSink sink(layers_, *shared_, s.device);
  {
    const at::AutoGradMode graph(true);
    observe_batch(s, batch, sink);
  }
  r_ = sink.losses();
  const auto count = static_cast<int64_t>(layers_.size());
  at::Tensor widths = at::full({count, 3}, kLow, at::kInt);
  for (int64_t l = 0; l < count; ++l) {
    const double limit = fast_limit(options_.alpha, options_.beta, progress, l, count);
    for (int64_t operand = 0; operand < 3; ++operand) {
      if (r_[l][operand].item<double>() >= limit) widths[l][operand] = kHigh;
    }
  }
  widths_.copy_(widths);
}

std::string FastWidths::widths_text() const {
  const at::Tensor all = widths().flatten();
  std::vector<std::string> parts;
  for (int64_t i = 0; i < all.numel(); ++i) parts.push_back(std::to_string(all[i].item<int>()));
  return core::join(parts, ",");
}

void FastWidths::set_widths(const std::string& text, const std::string& file) {
  std::vector<int32_t> all;
  for (const std::string& part : core::split(text, ',')) {
    long long width = -1;
    if (!core::parse_integer(part, width) || width < 0 || width > cuda::BlockFloatArgs::kMostBits) {
      break;
    }
    all.push_back(static_cast<int32_t>(width));
  }
  if (static_cast<int64_t>(all.size()) != widths_.numel()) {
    throw DataError(core::cat(file, ": ", kMetadataKey, " has ", all.size(),
                              " widths of 0 to 24, expected ", widths_.numel(),
                              ": three for each layer of the network"));
  }
  widths_.copy_(at::tensor(all, at::kInt).view(widths_.sizes()));
}

FastWidths::Moment FastWidths::moment() const {
  return {static_cast<int64_t>(shared_->products), widths_.clone()};
}

void FastWidths::set_moment(const Moment& moment) {
  shared_->products = static_cast<uint64_t>(moment.products);
  widths_.copy_(moment.widths);
}

std::map<std::string, at::Tensor> FastWidths::state() const {
  return {{"widths", widths_}, {"r", r_}};
}

void FastWidths::load_state(const std::map<std::string, at::Tensor>& state) {
  for (const auto& [name, to] : {std::pair{"widths", widths_}, {"r", r_}}) {
    const auto found = state.find(name);
    if (found == state.end() || found->second.sizes() != to.sizes()) {
      throw DataError(core::cat("checkpoint: 'fast.", name,
                                "' is missing or of another network: was the run made with "
                                "precision = fast?"));
    }
    at::Tensor(to).copy_(found->second);
  }
}

void FastWidths::read(const Metadata& metadata, const std::string& file) {
  const auto found = metadata.find(kMetadataKey);
  if (found != metadata.end()) set_widths(found->second, file);
}

// Of every use of a layer those of the layer: <path>, <path>#2, <path>[0], ...
void FastWidths::trace(std::map<std::string, at::Tensor>& tensors, const Session& s) const {
  const at::Tensor bits = widths().to(at::kByte);
  std::vector<std::string> names;
  for (const auto& entry : tensors) {
    if (entry.first.ends_with("/density")) {
      names.push_back(entry.first.substr(0, entry.first.size() - std::string("/density").size()));
    }
  }
  for (size_t l = 0; l < s.layers.size(); ++l) {
    const std::string path = layers::row_path(*s.layers[l]);
    for (const std::string& name : names) {
      if (name != path && !name.starts_with(path + "#") && !name.starts_with(path + "[")) continue;
      const auto row = static_cast<int64_t>(l);
      tensors[name + "/mantissa"] = bits[row].clone();
      tensors[name + "/r"] = losses()[row].clone();
    }
  }
}

// The rules that look at the share of the run that is over.
std::string FastWidths::why_not_longer() const {
  const bool adaptive = options_.rule == "adaptive";
  if (!options_.rule.starts_with("temporal-") && !(adaptive && options_.beta != 0)) return "";
  return core::cat("fast.rule = ", options_.rule,
                   " chooses the widths of precision fast by the share of the run that is over",
                   adaptive ? " (fast.beta = 0 would not)" : "");
}

std::unique_ptr<SessionPart> make_fast_widths(Session& s) {
  if (s.config.precision != "fast") return nullptr;
  if (!s.team->solo()) {
    throw UsageError("precision = fast works in one process; leave out --parallel");
  }
  auto widths = std::make_unique<FastWidths>(s.layers, s.config, s.device);
  // What is between the layers; their weights have no copies, they are rounded from fp32.
  s.bf16 = widths->bf16();
  return widths;
}

}  // namespace adagp::step
