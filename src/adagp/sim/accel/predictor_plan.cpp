// The predictor's products for one layer. Its weights are shared by all layers; a layer uses the
// columns of the FC that are its own, because smaller layers mask the rest.
#include <algorithm>
#include <array>

#include "adagp/base/core/lookup.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/plan_parts.h"

namespace adagp::accel {
namespace {

constexpr int64_t kFilter = 3;
constexpr int kRemapBlocks = 4, kNormPasses = 2;

struct PredictorNet {
  std::vector<layers::Row> convs;
  int64_t features = 0;  // inputs of the FC
  int64_t conv_weights = 0;
  int64_t activations = 0;  // of the convolutions, one sample; pooled before: also the summary
  int passes = 1;           // over them: ReLU, shared's with pooling, and remap's batch norms
  bool mean_first = false;  // remap: the samples' mean goes through the FC, one vector per layer
};

void add_conv(PredictorNet& net, int64_t in, int64_t out, int64_t side) {
  layers::Row row;
  row.name = "predictor convolution";
  row.op = "conv2d";
  row.input = {in, side, side};
  row.output = {out, side, side};
  row.kernel = {kFilter, kFilter};
  row.padding = {1, 1};
  net.convs.push_back(row);
  net.conv_weights = add(net.conv_weights, mul(in, out, kFilter * kFilter));
  net.activations = add(net.activations, mul(out, side, side));
}

layers::Row fc_row(int64_t in, int64_t out) {
  layers::Row row;
  row.name = "predictor fully connected";
  row.op = "linear";
  row.input = {in, 1, 1};
  row.output = {out, 1, 1};
  return row;
}

bool is_remap(const predictor::Config& config) {
  return config.kind == "remap";
}

// shared: conv 1 -> channels at the summary's size, pooled, FC; or pooled, conv, FC. remap: four
// convolutions with batch norm on maps of 4x4, FC.
PredictorNet predictor_net(const predictor::Config& config) {
  PredictorNet net;
  if (is_remap(config)) {
    const int64_t side = predictor::summary_side(config);
    for (int i = 0; i < kRemapBlocks; ++i) {
      add_conv(net, i == 0 ? 1 : config.remap_channels, config.remap_channels, side);
    }
    net.features = mul(config.remap_channels, side, side);
    net.passes += kNormPasses;
    net.mean_first = true;
  } else {
    add_conv(net, 1, config.channels, predictor::convolved_side(config));
    // Pooling after the convolution shares the pass of the ReLU, before it is one of its own.
    if (config.order == "pool-conv") {
      net.activations = add(net.activations, mul(config.summary, config.summary));
    }
    net.features = predictor::feature_count(config);
  }
  return net;
}

// Samples go through all but remap's FC. The first convolution needs no input gradient.
void append_products(const PredictorNet& net, int64_t samples, int64_t columns,
                     std::vector<Work>& forward, std::vector<Work>& backward) {
  std::vector<layers::Row> rows = net.convs;
  rows.push_back(fc_row(net.features, columns));
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool fc = i + 1 == rows.size();
    forward.push_back(forward_work(rows[i], fc && net.mean_first ? 1 : samples));
    if (i > 0) backward.push_back(input_gradient_work(forward.back(), rows[i]));
    backward.push_back(weight_gradient_work(forward.back(), rows[i]));
  }
}

}  // namespace

void check_predictor(const predictor::Config& config) {
  core::find_named(std::array{"shared", "remap"}, config.kind, "predictor", " is unknown");
  core::find_named(std::array{"conv-pool", "pool-conv"}, config.order, "predictor.order",
                   " is unknown");
  core::find_named(std::array{"joint", "per-layer"}, config.steps, "predictor.steps",
                   " is unknown");
  const auto within = [](const char* name, int64_t value, int64_t most) {
    if (value < 1 || value > most) {
      throw UsageError(core::cat("predictor.", name, " is ", value, ", expected 1 to ", most));
    }
  };
  constexpr int64_t kMost = 65536;
  within("summary", config.summary, kMost);
  within("channels", config.channels, kMost);
  if (config.kind == "shared") within("pooled", config.pooled, config.summary);
  within("remap_channels", config.remap_channels, kMost);
  within("remap_outputs", config.remap_outputs, int64_t{1} << 32);
}

bool predicts_biases(const predictor::Config& config) {
  return is_remap(config);
}

int64_t predictor_samples(const predictor::Config& config, const layers::Row& row) {
  return is_remap(config) && row.op == "linear" ? 1 : row.output[0];
}

int64_t predictor_width(const predictor::Config& config, const layers::Row& row) {
  const int64_t filter =
      mul(row.input[0] / row.groups, row.depth.kernel, mul(row.kernel[0], row.kernel[1]));
  return is_remap(config) ? std::min(config.remap_outputs, mul(row.output[0], filter)) : filter;
}

int64_t predictor_size(const predictor::Config& config, int64_t width) {
  const PredictorNet net = predictor_net(config);
  return add(net.conv_weights, mul(net.features, width));
}

PredictorPlan plan_predictor(const predictor::Config& config, const layers::Row& row, int64_t batch,
                             int64_t widest) {
  const PredictorNet net = predictor_net(config);
  const int64_t samples = predictor_samples(config, row);
  const int64_t width = predictor_width(config, row);
  PredictorPlan plan;
  append_products(net, samples, width, plan.forward, plan.backward);
  append_products(net, samples, widest, plan.forward_full, plan.backward_full);
  const int64_t outputs = mul(row.output[0], layers::pixels_out(row));
  plan.reorganised = mul(batch, outputs);
  // Maxima are taken of the mean, in a pass of their own; of an image of the whole batch at once.
  if (is_remap(config) && row.op != "linear") plan.reorganised = add(plan.reorganised, outputs);
  plan.vector_forward = mul(samples, net.activations, net.passes);
  if (net.mean_first) plan.vector_forward = add(plan.vector_forward, mul(samples, net.features));
  plan.vector_backward = add(plan.vector_forward, row.weights);
  if (predicts_biases(config)) plan.vector_backward = add(plan.vector_backward, row.bias);
  plan.weights = predictor_size(config, width);
  plan.weights_full = predictor_size(config, widest);
  return plan;
}

}  // namespace adagp::accel
