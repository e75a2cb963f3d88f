#include "adagp/engine/layers/from_model.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/nn/frozen.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/sim/layers/table.h"

namespace adagp::layers {
namespace {

// C, H, W of a map; features, 1, positions of anything else. The batch is one example.
std::array<int64_t, 3> example_shape(const at::Tensor& x, bool map) {
  if (map) return {x.size(1), x.size(2), x.size(3)};
  return {x.size(-1), 1, x.numel() / x.size(-1)};
}

class Recorder : public nn::TapSink {
 public:
  explicit Recorder(Operations operations) : operations_(operations) {}

  void on_output(const nn::WeightLayer& layer, const at::Tensor& input,
                 const at::Tensor& output) override {
    add(layer, names_.weight_layer(row_path(layer)), input, output);
  }
  void on_part(const nn::WeightLayer& layer, int64_t first, const at::Tensor& input,
               const at::Tensor& output) override {
    add(layer, names_.weight_part(row_path(layer), std::to_string(first)), input, output);
  }

  void on_op(const char* op, const std::vector<at::Tensor>& inputs,
             const at::Tensor& output) override {
    Row row;
    row.op = op;
    if (!is_product(row) && operations_ != Operations::kAll) return;
    row.name = names_.operation(op);
    const at::Tensor& x = inputs.at(0);
    const bool map = x.dim() == 4;
    if (row.op == "matmul" || (row.op == "softmax" && map)) {
      // [1, heads, M, K] -> [1, heads, M, N]
      row.groups = row.op == "matmul" ? x.size(1) : 1;
      row.input = {x.size(1) * x.size(3), 1, x.size(2)};
      row.output = {output.size(1) * output.size(3), 1, output.size(2)};
    } else {
      row.output = example_shape(output, output.dim() == 4);
      row.input = row.op == "concat"      ? row.output
                  : row.op == "embedding" ? std::array<int64_t, 3>{1, 1, x.numel()}
                                          : example_shape(x, map);
    }
    std::vector<int64_t> parameters;  // weight, then bias
    row.frozen = nn::FrozenScope::active() ? 1 : 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool frozen = row.frozen != 0 && i > 0 && row.op.ends_with("_norm");
      if (!inputs[i].defined() || !(inputs[i].requires_grad() || frozen)) continue;
      parameters.push_back(inputs[i].numel());
    }
    // The weights of a product are a layer's, or another's (tied): here it has a bias alone.
    if (!parameters.empty()) (is_product(row) ? row.bias : row.weights) = parameters[0];
    if (parameters.size() > 1) row.bias = parameters[1];
    complete(row);
    rows.push_back(std::move(row));
  }

  std::vector<Row> rows;

 private:
  void add(const nn::WeightLayer& layer, const std::string& name, const at::Tensor& input,
           const at::Tensor& output) {
    const nn::LayerInfo& info = layer.info();
    const bool conv = info.kind == nn::LayerKind::kConv2d;
    Row row;
    row.name = name;
    row.op = conv ? "conv2d" : "linear";
    row.input = example_shape(input, conv);
    row.output = example_shape(output, conv);
    row.kernel = info.kernel;
    row.stride = info.stride;
    row.padding = info.padding;
    row.groups = info.groups;
    row.bias = layer.bias.defined() ? row.output[0] : 0;
    row.frozen = layer.frozen() ? 1 : 0;
    complete(row);
    rows.push_back(std::move(row));
  }

  Operations operations_;
  RowNames names_;
};

// Null for a network of the user's own.
const models::Entry* registered(const std::string& name) {
  for (const models::Entry& entry : models::registry()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

bool two_numbers(const std::string& text, char separator, long long& first, long long& second) {
  constexpr long long kMost = 1 << 16;
  const auto parts = core::split(text, separator);
  return parts.size() == 2 && core::parse_integer(parts[0], first) &&
         core::parse_integer(parts[1], second) && first > 0 && second > 0 && first <= kMost &&
         second <= kMost;
}

}  // namespace

std::string row_path(const nn::WeightLayer& layer) {
  std::string own = layer.names().weight;
  if (own == "weight") return layer.path();
  if (own.ends_with("_weight")) own.resize(own.size() - std::string("_weight").size());
  return layer.path() + "." + own;
}

InputSize parse_input(const std::string& text, int64_t image_size) {
  static const std::string kTokens = "tokens:";
  if (text == "imagenet") return {3, image_size, image_size};
  if (text == "cifar") return {3, 32, 32};
  long long first = 0, second = 0;
  if (two_numbers(text, 'x', first, second)) return {3, first, second};
  if (text.starts_with(kTokens) && two_numbers(text.substr(kTokens.size()), ',', first, second)) {
    return {0, 0, 0, first, second};
  }
  throw UsageError("input '" + text +
                   "': expected imagenet, cifar, HxW in pixels (for example 64x64) or "
                   "tokens:SRC,TGT in words (for example tokens:20,22)");
}

models::Tensors shape_inputs(const std::string& model_name, const std::string& input_name) {
  const models::Entry* entry = registered(model_name);
  const InputSize size = parse_input(input_name, entry != nullptr ? entry->image_size : 224);
  if (entry != nullptr && size.tokens() != (entry->task == models::TaskKind::kTranslation)) {
    throw UsageError(core::cat(model_name, ": takes ", size.tokens() ? "images" : "words",
                               "; got input '", input_name, "', expected ",
                               size.tokens() ? "imagenet, cifar or HxW" : "tokens:SRC,TGT"));
  }
  if (size.tokens()) {
    const auto words = at::device(at::kMeta).dtype(at::kLong);
    return {at::empty({1, size.source}, words), at::empty({1, size.target}, words)};
  }
  return {at::empty({1, size.channels, size.height, size.width}, at::device(at::kMeta))};
}

Table from_model(models::Net& net, const std::string& model_name, const std::string& input_name,
                 Operations operations) {
  const models::Tensors inputs = shape_inputs(model_name, input_name);
  torch::NoGradGuard no_grad;
  nn::collect(net);
  Recorder recorder(operations);
  {
    nn::TapScope taps(recorder);
    net.run(inputs);
  }
  return {model_name, input_name, std::move(recorder.rows)};
}

BlockTable block_table(models::Net& net, const std::string& model_name,
                       const std::string& input_name) {
  const auto* in_blocks = dynamic_cast<const models::BlockNet*>(&net);
  if (in_blocks == nullptr) {
    BlockTable out{from_model(net, model_name, input_name, Operations::kAll), {}};
    out.blocks.resize(out.table.rows.size(), 0);
    return out;
  }
  models::Tensors x = shape_inputs(model_name, input_name);
  torch::NoGradGuard no_grad;
  nn::collect(net);
  Recorder recorder(Operations::kAll);
  BlockTable out;
  {
    nn::TapScope taps(recorder);
    for (const models::Block& block : in_blocks->blocks()) {
      x = block.run(x);
      const auto number = static_cast<int64_t>(&block - in_blocks->blocks().data());
      out.blocks.resize(recorder.rows.size(), number);
    }
  }
  out.table = {model_name, input_name, std::move(recorder.rows)};
  return out;
}

int64_t rows_before(const std::vector<int64_t>& blocks_of_rows, int64_t block) {
  return std::ranges::count_if(blocks_of_rows, [&](int64_t own) { return own < block; });
}

}  // namespace adagp::layers
