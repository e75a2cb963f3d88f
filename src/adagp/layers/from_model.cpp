#include "adagp/layers/from_model.h"

#include <algorithm>
#include <map>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/nn/batch_norm.h"
#include "adagp/nn/layer.h"

namespace adagp::layers {
namespace {

// C, H, W of one example. Linear: features, 1, positions.
std::array<int64_t, 3> example_shape(const at::Tensor& x, nn::LayerKind kind) {
  if (kind == nn::LayerKind::kConv2d) return {x.size(1), x.size(2), x.size(3)};
  const int64_t per_example = x.dim() > 1 ? x.numel() / x.size(0) : x.numel();
  return {x.size(-1), 1, per_example / x.size(-1)};
}

class Recorder : public nn::TapSink {
 public:
  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override {
    const nn::LayerInfo& info = layer.info();
    Row row;
    row.name = layer.path();
    row.op = info.kind == nn::LayerKind::kConv2d ? "conv2d" : "linear";
    row.input = example_shape(input, info.kind);
    row.output = example_shape(output, info.kind);
    row.kernel = info.kernel;
    row.stride = info.stride;
    row.padding = info.padding;
    row.groups = info.groups;
    row.bias = layer.bias.defined() ? layer.bias.numel() : 0;
    complete(row);
    rows.push_back(std::move(row));
  }

  std::vector<Row> rows;
};

}  // namespace

InputSize parse_input(const std::string& text) {
  if (text == "imagenet") return {3, 224, 224};
  if (text == "cifar") return {3, 32, 32};
  const auto parts = core::split(text, 'x');
  long long height = 0, width = 0;
  constexpr long long kMost = 1 << 16;
  if (parts.size() == 2 && core::parse_integer(parts[0], height) &&
      core::parse_integer(parts[1], width) && height > 0 && width > 0 && height <= kMost &&
      width <= kMost) {
    return {3, height, width};
  }
  throw UsageError("input '" + text +
                   "': expected imagenet, cifar or HxW in pixels, for example 64x64");
}

Table from_model(models::Net& net, const std::string& model_name, const std::string& input_name) {
  const InputSize size = parse_input(input_name);
  torch::NoGradGuard no_grad;
  nn::collect(net);
  Recorder recorder;
  {
    nn::TapScope taps(recorder);
    net.forward(at::empty({1, size.channels, size.height, size.width}, at::device(at::kMeta)));
  }
  return {model_name, input_name, std::move(recorder.rows)};
}

std::vector<Coverage> coverage(models::Net& net, const std::string& head) {
  const std::vector<std::string> choices{"predicted", "exact", "frozen"};
  if (std::find(choices.begin(), choices.end(), head) == choices.end()) {
    throw UsageError("unknown head '" + head + "'" + core::suggestion(head, choices));
  }
  std::map<std::string, Coverage> known;  // parameters of weight layers
  for (const nn::WeightLayer* layer : nn::collect(net)) {
    const bool is_head = layer->path() == net.head();
    const bool is_conv = layer->info().kind == nn::LayerKind::kConv2d;
    const std::string weight = layer->path() + ".weight", bias = layer->path() + ".bias";
    known[weight] = {weight, is_conv ? "conv weight" : "linear weight",
                     is_head ? head : "predicted", 0};
    known[bias] = {bias, "bias", is_head && head == "exact" ? "exact" : "frozen", 0};
  }
  std::map<std::string, std::string> norms;
  for (const auto& item : net.named_modules("", /*include_self=*/false)) {
    if (item.value()->as<nn::BatchNorm2dImpl>() == nullptr) continue;
    norms[item.key() + ".weight"] = norms[item.key() + ".bias"] = "norm";
  }

  std::vector<Coverage> all;
  for (const auto& item : net.named_parameters()) {
    const std::string& name = item.key();
    const auto found = known.find(name);
    Coverage entry = found != known.end()
                         ? found->second
                         : Coverage{name, norms.contains(name) ? "norm" : "other", "frozen", 0};
    entry.parameters = item.value().numel();
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace adagp::layers
