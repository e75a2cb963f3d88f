// The kernels of src/adagp/gpu/cuda as torch operators, through torch's stable ABI: one file runs
// in every torch from 2.11 on. On a CPU the references run: slow, and the definition.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <string>
#include <vector>

#include "checked.h"

namespace {

using namespace adagp::ops;  // NOLINT: this file is the operators

constexpr int64_t kPixels = cuda::kSummary * cuda::kSummary;
// The most pieces into which the windows' edges cut a map.
constexpr int64_t kCells = (2 * cuda::kSummary - 1) * (2 * cuda::kSummary - 1);

// y with its channels next to each other in memory; mostly it is so already.
Tensor channels_are_last(const Tensor& y, bool convolution) {
  using torch::headeronly::MemoryFormat;
  int64_t expected = 1;
  bool last = true;
  const auto look_at = [&](int64_t axis) {
    last = last && (y.size(axis) == 1 || y.stride(axis) == expected);
    expected *= y.size(axis);
  };
  if (convolution) {
    for (const int64_t axis : {1, 3, 2, 0}) look_at(axis);
  } else {
    for (int64_t axis = y.dim() - 1; axis >= 0; --axis) look_at(axis);
  }
  if (last) return y;
  return torch::stable::contiguous(
      y, convolution ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous);
}

// What summaries lie in: rows, and as many cells for each row as a map can have.
void check_space(const Tensor& rows, const Tensor& cells, const char* name) {
  STD_TORCH_CHECK(rows.dim() == 2 && rows.size(1) == kPixels && rows.is_contiguous(),
                  "adagp::", name, ": rows must be contiguous [filters, ", kPixels, "]");
  floats(cells, "cells", rows.size(0) * kCells);
}

// The first use of a layer leaves sums by cell for pool_; a later one goes into the mean that is in
// rows[first:first + C].
template <typename Where>
void summarise(const Tensor& y, const Tensor& rows, const Tensor& cells, const Tensor& workspace,
               int64_t first, bool convolution, int64_t use) {
  STD_TORCH_CHECK(convolution ? y.dim() == 4 : y.dim() >= 2, "adagp::summarise_: y has ", y.dim(),
                  " axes, expected [B, C, H, W] or [B, ..., C]");
  Where where(y);
  const Tensor x = channels_are_last(y, convolution);
  cuda::StatsArgs a;
  if (convolution) {
    a.map = {x.size(0), x.size(2), x.size(3), x.size(1)};
  } else {
    const int64_t channels = x.size(x.dim() - 1), places = x.size(0) * channels;
    a.map = {x.size(0), places == 0 ? 0 : x.numel() / places, 1, channels};
  }
  check_space(rows, cells, "summarise_");
  STD_TORCH_CHECK(first >= 0 && first + a.map.channels <= rows.size(0), "adagp::summarise_: rows ",
                  first, " to ", first + a.map.channels, " of ", rows.size(0));
  STD_TORCH_CHECK(use >= 1, "adagp::summarise_: use counts from 1");
  a.x = x.const_data_ptr();
  a.type = type_of(x, "y");
  if (use == 1) {
    a.cells = floats(cells, "cells") + first * kCells;
  } else {
    a.summary = floats(rows, "rows") + first * kPixels;
  }
  a.size = cuda::kSummary;
  a.use = static_cast<int>(use);
  const int64_t bytes = Where::stats(a.map.channels);
  STD_TORCH_CHECK(checked(workspace, ScalarType::Byte, "workspace").numel() >= bytes,
                  "adagp::summarise_: the workspace has ", workspace.numel(), " bytes, expected ",
                  bytes, " (adagp::summary_workspace)");
  a.workspace = workspace.mutable_data_ptr();
  where.run(a);
}

// rows = summaries from the cells that summarise_ left, of all layers that are named. maps: batch,
// height, width and channels of each.
template <typename Where>
void pool(const Tensor& cells, const Tensor& rows, Ints firsts, Ints maps) {
  check_space(rows, cells, "pool_");
  STD_TORCH_CHECK(maps.size() == 4 * firsts.size(), "adagp::pool_: maps has ", maps.size(),
                  " numbers for ", firsts.size(), " layers, expected four for each");
  std::vector<cuda::PoolArgs> layers(firsts.size());
  for (size_t i = 0; i < firsts.size(); ++i) {
    const int64_t first = firsts[i], *map = maps.data() + 4 * i;
    STD_TORCH_CHECK(map[0] > 0 && map[1] > 0 && map[2] > 0 && map[3] > 0 && first >= 0 &&
                        first + map[3] <= rows.size(0),
                    "adagp::pool_: layer ", i, " does not fit the rows");
    layers[i].cells = floats(cells, "cells") + first * kCells;
    layers[i].map = {map[0], map[1], map[2], map[3]};
    layers[i].summary = floats(rows, "rows") + first * kPixels;
  }
  Where where(rows);
  where.run(layers);
}

// What summarise_ needs beside its result: one tensor for all layers of at most so many channels,
// on one stream. The kernels leave it as they found it.
template <typename Where>
Tensor summary_workspace(const Tensor& rows, int64_t channels) {
  return torch::stable::new_zeros(rows, std::vector<int64_t>{Where::stats(channels)},
                                  ScalarType::Byte);
}

// The inputs of the predictor's FC, in bf16: [rows, 256].
template <typename Where>
Tensor features(const Tensor& rows, const Tensor& conv_weight, const Tensor& conv_bias) {
  STD_TORCH_CHECK(rows.dim() == 2 && rows.size(1) == kPixels && rows.is_contiguous(),
                  "adagp::features: rows must be contiguous [filters, ", kPixels, "]");
  Where where(rows);
  cuda::PredictorNet net;
  net.conv_weight = floats(conv_weight, "conv_weight", cuda::kChannels * 9);
  net.conv_bias = floats(conv_bias, "conv_bias", cuda::kChannels);
  Tensor out = torch::stable::new_empty(rows, std::vector<int64_t>{rows.size(0), cuda::kFeatures},
                                        ScalarType::BFloat16);
  cuda::FeaturesArgs a;
  a.summaries = floats(rows, "rows");
  a.rows = rows.size(0);
  a.net = &net;
  a.features = out.mutable_data_ptr();
  where.run(a);
  return out;
}

cuda::UpdateRule rule_of(int64_t kind, const Floats& numbers, const Tensor& rate) {
  STD_TORCH_CHECK(kind >= 0 && kind <= 2 && numbers.size() == 3,
                  "adagp: rule is 0 (sgd), 1 (adam) or 2 (adamw), with three numbers");
  cuda::UpdateRule rule;
  rule.kind = static_cast<cuda::UpdateRule::Kind>(kind);
  const auto number = [&](size_t i) { return static_cast<float>(numbers[i]); };
  if (kind == 0) {
    rule.momentum = number(0);
    rule.nesterov = numbers[1] != 0;
  } else {
    rule.beta1 = number(0), rule.beta2 = number(1), rule.eps = number(2);
  }
  rule.lr = floats(rate, "rate", 1);
  return rule;
}

// State of the optimizer for parameter i; lists that the rule does not need are empty.
cuda::ParamSlot slot_of(const Tensor& weight, const Tensors& first, const Tensors& second,
                        const Tensors& steps, size_t i) {
  cuda::ParamSlot slot;
  slot.count = weight.numel();
  slot.weight = floats(weight, "weights");
  const auto like_weight = [&](const Tensors& list, const char* name) -> float* {
    if (list.empty()) return nullptr;
    for (int64_t d = 0; d < weight.dim(); ++d) {
      STD_TORCH_CHECK(list.at(i).dim() == weight.dim() && list[i].size(d) == weight.size(d) &&
                          (weight.size(d) == 1 || list[i].stride(d) == weight.stride(d)),
                      "adagp: ", name, " ", i, " has another shape or layout than its weight");
    }
    return floats(list[i], name);
  };
  slot.first = like_weight(first, "first");
  slot.second = like_weight(second, "second");
  if (!steps.empty()) slot.steps = floats(steps.at(i), "steps", 1);
  return slot;
}

void check_lists(size_t count, const Tensors& first, const Tensors& second, const Tensors& steps,
                 bool adam) {
  const auto fits = [&](const Tensors& list) { return list.empty() || list.size() == count; };
  STD_TORCH_CHECK(fits(first) && fits(second) && fits(steps),
                  "adagp: lists of state have another length than the weights");
  STD_TORCH_CHECK(!adam || count == 0 || !(first.empty() || second.empty() || steps.empty()),
                  "adagp: adam needs first, second and steps");
}

// weights move by one optimizer step with gradient = scale * (features . fc^T + bias).
template <typename Where>
void predict_update(const Tensor& features, const Tensor& fc_low, const Tensor& fc_bias,
                    const Tensor& scale, Ints ids, Ints first_rows, Tensors weights, Tensors first,
                    Tensors second, Tensors steps, const Tensor& rate, Floats decays, int64_t kind,
                    Floats numbers) {
  STD_TORCH_CHECK(ids.size() == weights.size() && first_rows.size() == weights.size() &&
                      decays.size() == weights.size(),
                  "adagp::predict_update_: ids, first_rows, weights and decays differ in length");
  check_lists(weights.size(), first, second, steps, kind != 0);
  Where where(features);
  cuda::PredictorNet net;
  net.widest = fc_bias.numel();
  net.fc_bias = floats(fc_bias, "fc_bias");
  net.fc_low = checked(fc_low, ScalarType::BFloat16, "fc_low").mutable_data_ptr();
  net.scale = floats(scale, "scale");
  STD_TORCH_CHECK(fc_low.numel() == net.widest * cuda::kFeatures,
                  "adagp::predict_update_: fc_low must be [", net.widest, ", 256]");
  checked(features, ScalarType::BFloat16, "features");
  std::vector<cuda::PredictedLayer> layers;
  std::vector<int> places;
  for (size_t i = 0; i < weights.size(); ++i) {
    cuda::PredictedLayer layer;
    layer.first_row = first_rows[i];
    layer.rows = weights[i].size(0);
    layer.cols = layer.rows == 0 ? 0 : weights[i].numel() / layer.rows;
    layer.slot = slot_of(weights[i], first, second, steps, i);
    layer.slot.decay = static_cast<float>(decays[i]);
    STD_TORCH_CHECK(
        layer.first_row >= 0 && layer.cols <= net.widest && ids[i] >= 0 && ids[i] < scale.numel() &&
            (layer.first_row + layer.rows) * cuda::kFeatures <= features.numel(),
        "adagp::predict_update_: layer ", i, " does not fit the features or the predictor");
    layers.push_back(layer);
    places.push_back(static_cast<int>(ids[i]));
  }
  cuda::PredictArgs a;
  a.layers = layers.data();
  a.ids = places.data();
  a.count = static_cast<int64_t>(layers.size());
  a.net = &net;
  a.features = features.const_data_ptr();
  a.rule = rule_of(kind, numbers, rate);
  where.run(a);
}

// What predictor_learn_ needs beside its results, for layers of so many filters with so many
// weights each. The kernels leave it as they found it.
template <typename Where>
Tensor learn_workspace(const Tensor& rows, Ints filters, Ints cols, int64_t widest) {
  STD_TORCH_CHECK(
      filters.size() == cols.size() && filters.size() <= static_cast<size_t>(cuda::kMostTrained),
      "adagp::learn_workspace: at most ", cuda::kMostTrained, " layers, filters and cols of each");
  std::vector<cuda::PredictedLayer> layers(filters.size());
  for (size_t i = 0; i < filters.size(); ++i) {
    layers[i].rows = filters[i];
    layers[i].cols = cols[i];
  }
  return torch::stable::new_zeros(rows, std::vector<int64_t>{Where::train(layers, widest)},
                                  ScalarType::Byte);
}

// One training step of the predictor on the true gradients of all layers.
// net: conv.weight, conv.bias, fc.weight, fc.bias, fc_low, mean_square, scale, seen, loss; first,
// second, steps: Adam's state of the first four.
template <typename Where>
void learn(const Tensor& rows, const Tensor& features, Ints first_rows, Tensors gradients,
           Tensors net, Tensors first, Tensors second, Tensors steps, const Tensor& workspace,
           const Tensor& rate, double rms_decay) {
  STD_TORCH_CHECK(net.size() == 9 && first.size() == 4 && second.size() == 4 && steps.size() == 4,
                  "adagp::predictor_learn_: net has nine tensors, first, second and steps four");
  STD_TORCH_CHECK(first_rows.size() == gradients.size() &&
                      gradients.size() <= static_cast<size_t>(cuda::kMostTrained),
                  "adagp::predictor_learn_: at most ", cuda::kMostTrained, " layers");
  Where where(rows);
  const auto count = static_cast<int64_t>(gradients.size());
  cuda::TrainArgs a;
  a.rows = rows.size(0);
  a.summaries = floats(rows, "rows", a.rows * kPixels);
  a.features = checked(features, ScalarType::BFloat16, "features").const_data_ptr();
  a.net.widest = net[3].numel();
  a.net.conv_weight = floats(net[0], "conv.weight", cuda::kChannels * 9);
  a.net.conv_bias = floats(net[1], "conv.bias", cuda::kChannels);
  a.net.fc_weight = floats(net[2], "fc.weight", a.net.widest * cuda::kFeatures);
  a.net.fc_bias = floats(net[3], "fc.bias");
  a.net.fc_low = checked(net[4], ScalarType::BFloat16, "fc_low").mutable_data_ptr();
  a.net.mean_square = floats(net[5], "mean_square", count);
  a.net.scale = floats(net[6], "scale", count);
  a.seen = static_cast<uint8_t*>(checked(net[7], ScalarType::Byte, "seen").mutable_data_ptr());
  a.loss = floats(net[8], "loss", 1);
  STD_TORCH_CHECK(features.numel() == a.rows * cuda::kFeatures &&
                      net[4].numel() == a.net.widest * cuda::kFeatures && net[7].numel() == 1,
                  "adagp::predictor_learn_: features, fc_low or seen has another size");
  std::vector<cuda::PredictedLayer> layers;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& gradient = gradients[i];
    cuda::PredictedLayer layer;
    layer.first_row = first_rows[i];
    layer.rows = gradient.size(0);
    layer.cols = layer.rows == 0 ? 0 : gradient.numel() / layer.rows;
    layer.slot.gradient_type = type_of(gradient, "gradients");
    STD_TORCH_CHECK(dense(gradient) && layer.first_row >= 0 && layer.cols <= a.net.widest &&
                        layer.first_row + layer.rows <= a.rows,
                    "adagp::predictor_learn_: gradient ", i, " does not fit");
    layer.slot.gradient = gradient.const_data_ptr();
    layer.slot.count = gradient.numel();
    layers.push_back(layer);
  }
  a.layers = layers.data();
  a.count = count;
  cuda::ParamSlot* slots[] = {&a.conv_weight, &a.conv_bias, &a.fc_weight, &a.fc_bias};
  for (size_t i = 0; i < 4; ++i) *slots[i] = slot_of(net[i], first, second, steps, i);
  a.rule = rule_of(1, {0.9, 0.999, 1e-8}, rate);
  a.rms_decay = static_cast<float>(rms_decay);
  const int64_t bytes = Where::train(layers, a.net.widest);
  STD_TORCH_CHECK(checked(workspace, ScalarType::Byte, "workspace").numel() >= bytes,
                  "adagp::predictor_learn_: the workspace has ", workspace.numel(),
                  " bytes, expected ", bytes, " (adagp::learn_workspace)");
  a.workspace = workspace.mutable_data_ptr();
  where.run(a);
}

template <typename Where>
void implement(torch::stable::detail::StableLibrary& m) {
  m.impl("summarise_", TORCH_BOX(summarise<Where>));
  m.impl("summary_workspace", TORCH_BOX(summary_workspace<Where>));
  m.impl("pool_", TORCH_BOX(pool<Where>));
  m.impl("learn_workspace", TORCH_BOX(learn_workspace<Where>));
  m.impl("features", TORCH_BOX(features<Where>));
  m.impl("predict_update_", TORCH_BOX(predict_update<Where>));
  m.impl("predictor_learn_", TORCH_BOX(learn<Where>));
}

}  // namespace

STABLE_TORCH_LIBRARY(adagp, m) {
  m.def(
      "summarise_(Tensor y, Tensor(a!) rows, Tensor(b!) cells, Tensor(c!) workspace, int first, "
      "bool convolution, int use) -> ()");
  m.def("pool_(Tensor cells, Tensor(a!) rows, int[] firsts, int[] maps) -> ()");
  m.def("summary_workspace(Tensor rows, int channels) -> Tensor");
  m.def("features(Tensor rows, Tensor conv_weight, Tensor conv_bias) -> Tensor");
  m.def(
      "predict_update_(Tensor features, Tensor fc_low, Tensor fc_bias, Tensor scale, int[] ids, "
      "int[] first_rows, Tensor(a!)[] weights, Tensor(b!)[] first, Tensor(c!)[] second, "
      "Tensor(d!)[] steps, Tensor rate, float[] decays, int rule, float[] numbers) -> ()");
  m.def(
      "predictor_learn_(Tensor rows, Tensor features, int[] first_rows, Tensor[] gradients, "
      "Tensor(a!)[] net, Tensor(b!)[] first, Tensor(c!)[] second, Tensor(d!)[] steps, "
      "Tensor(e!) workspace, Tensor rate, float rms_decay) -> ()");
  m.def("learn_workspace(Tensor rows, int[] filters, int[] cols, int widest) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(adagp, CPU, m) {
  implement<OnCpu>(m);
}
#ifdef ADAGP_WITH_KERNELS
STABLE_TORCH_LIBRARY_IMPL(adagp, CUDA, m) {
  implement<OnCuda>(m);
}
#endif
