// Does the remap predictor lay its vector over gradients as described?

#include <ATen/ATen.h>
#include <algorithm>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/rivals/predictor/remap.h"
#include "unit/predictor/net.h"
#include "unit/with_rivals.h"

namespace adagp::predictor {
namespace {

using testing_net::Collect;
using testing_net::OddNet;

Config remap_config(int64_t outputs, const std::string& tail) {
  Config config;
  config.kind = "remap";
  config.remap_channels = 4;
  config.remap_outputs = outputs;
  config.tail = tail;
  return config;
}

// Gradient sizes of OddNet: 12, 150, 108, 45, 21.
std::map<size_t, at::Tensor> predictions(OddNet& net, const std::string& tail) {
  at::manual_seed(1);
  auto predictor = make_predictor(net.layers, remap_config(20, tail), 3, 100);
  Summaries summaries(net.layers, 8);
  testing_net::fill(summaries, 2);
  Collect sink;
  predictor->predict(summaries, {}, sink);
  std::map<size_t, at::Tensor> out;
  for (const auto& [l, gradient] : sink.gradients) out[l] = as_rows(gradient).reshape({-1});
  return out;
}

TEST(Remap, RepeatsTheVectorAndFillsTheTail) {
  OddNet net;
  const auto last = predictions(net, "last"), cyclic = predictions(net, "cyclic");
  for (const auto& [l, g] : last) {
    const int64_t whole = g.numel() / 20 * 20;
    for (int64_t i = 20; i < whole; ++i) EXPECT_EQ(g[i].item<float>(), g[i % 20].item<float>());
    if (g.numel() < 20) continue;
    for (int64_t i = whole; i < g.numel(); ++i) {
      EXPECT_EQ(g[i].item<float>(), g[19].item<float>()) << l;
      EXPECT_EQ(cyclic.at(l)[i].item<float>(), cyclic.at(l)[i % 20].item<float>()) << l;
    }
  }
  EXPECT_EQ(last.at(0).numel(), 12);
}

TEST(Remap, LearnsAndGoesOnFromItsState) {
  at::manual_seed(1);
  OddNet net;
  Config config = remap_config(200, "last");
  config.lr = 1e-2;
  RemapPredictor one(net.layers, config, 3, 100), other(net.layers, config, 4, 100);
  Summaries summaries(net.layers, 8);
  testing_net::fill(summaries, 2);
  const auto gradients = testing_net::random_gradients(net.layers);
  const double first = one.observe(summaries, gradients).item<double>();
  double final_loss = first;
  for (int i = 0; i < 60; ++i) final_loss = one.observe(summaries, gradients).item<double>();
  EXPECT_LT(final_loss, 0.5 * first);

  std::map<std::string, at::Tensor> saved;
  for (const auto& [name, tensor] : one.state()) saved[name] = tensor.clone();
  other.load_state(saved);
  EXPECT_EQ(one.observe(summaries, gradients).item<double>(),
            other.observe(summaries, gradients).item<double>());
  saved.erase(std::find_if(saved.begin(), saved.end(),
                           [](const auto& entry) { return entry.first.starts_with("rms."); }));
  EXPECT_THROW(other.load_state(saved), DataError);
}

TEST(Predictors, UnknownKindNamesTheNearest) {
  OddNet net;
  Config config;
  config.kind = "shard";
  try {
    make_predictor(net.layers, config, 0, 1);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'shared'"), std::string::npos);
  }
}

}  // namespace
}  // namespace adagp::predictor
