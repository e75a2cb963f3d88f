// Does the shared predictor compute what its definition says, and only where it may?

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/predictor/layout.h"
#include "adagp/engine/predictor/shared.h"
#include "unit/predictor/net.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::predictor {
namespace {

using testing_net::Collect;
using testing_net::OddNet;

double relative(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).norm().item<double>() / std::max(b.norm().item<double>(), 1e-300);
}

// Steps and order, as their keys name them.
class SharedPredictorForms : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
};

INSTANTIATE_TEST_SUITE_P(All, SharedPredictorForms,
                         ::testing::Values(std::pair{"joint", "conv-pool"},
                                           std::pair{"joint", "pool-conv"},
                                           std::pair{"per-layer", "conv-pool"},
                                           std::pair{"per-layer", "pool-conv"}));

TEST_P(SharedPredictorForms, AgreeWithPyTorchOverThreeBatches) {
  at::manual_seed(7);
  OddNet net;
  net.to(at::kDouble);
  Config config;
  config.steps = GetParam().first;
  config.order = GetParam().second;
  SharedPredictor predictor(net.layers, config, 11, 100);
  Summaries summaries(net.layers, config.summary);
  testing_net::fill(summaries, 3);

  io::TensorMap in{{"rows", summaries.rows()}};
  for (const auto& [name, tensor] : predictor.state()) {
    if (name.starts_with("param.")) in[name] = tensor.clone();
  }
  std::vector<std::vector<at::Tensor>> gradients;
  for (int step = 0; step < 3; ++step) {
    gradients.push_back(testing_net::random_gradients(net.layers));
    for (size_t l = 0; l < net.layers.size(); ++l) {
      in["gradient." + std::to_string(l) + "." + std::to_string(step)] =
          as_rows(gradients.back()[l]).contiguous();
      in["shape." + std::to_string(l)] =
          at::tensor({net.layers[l]->info().rows(), net.layers[l]->info().cols()}, at::kLong);
    }
  }
  const testing::TempFolder folder;
  io::save_tensors(folder / "in.safetensors", in);
  testing::run_python("tests/golden/predictor.py", (folder / "in.safetensors").string() + " " +
                                                       (folder / "out.safetensors").string() + " " +
                                                       config.steps + " " + config.order);
  const auto expected = io::load_tensors(folder / "out.safetensors").tensors;

  for (int step = 0; step < 3; ++step) {
    const at::Tensor loss = predictor.observe(summaries, gradients[step]);
    EXPECT_NEAR(loss.item<double>(), expected.at("loss." + std::to_string(step)).item<double>(),
                1e-12);
    if (step > 0 || config.steps != "joint") continue;
    // Adam's first moment after one step is (1 - beta1) times the gradient.
    for (const char* name : {"conv.weight", "conv.bias", "fc.weight", "fc.bias"}) {
      const at::Tensor moment = predictor.state().at(std::string("optimizer.mean.") + name);
      EXPECT_LT(relative(moment / 0.1, expected.at(std::string("grad.") + name)), 1e-9) << name;
    }
  }
  for (const char* name : {"conv.weight", "conv.bias", "fc.weight", "fc.bias"}) {
    const std::string key = std::string("param.") + name;
    EXPECT_LT(relative(predictor.state().at(key), expected.at(key)), 1e-9) << name;
  }
  Collect sink;
  predictor.predict(summaries, {}, sink);
  ASSERT_EQ(sink.gradients.size(), net.layers.size());
  for (const auto& [l, gradient] : sink.gradients) {
    EXPECT_EQ(gradient.sizes(), net.layers[l]->weight.sizes());
    EXPECT_LT(relative(as_rows(gradient), expected.at("predicted." + std::to_string(l))), 1e-9)
        << l;
  }
}

// What a predictor of these layers knows after three batches.
std::map<std::string, at::Tensor> taught(const std::vector<nn::WeightLayer*>& layers,
                                         const std::string& steps) {
  at::manual_seed(9);
  Config config;
  config.steps = steps;
  SharedPredictor predictor(layers, config, 11, 100);
  Summaries summaries(layers, config.summary);
  testing_net::fill(summaries, 3);
  for (int batch = 0; batch < 3; ++batch) {
    predictor.observe(summaries, testing_net::random_gradients(layers));
  }
  std::map<std::string, at::Tensor> out;
  for (const auto& [name, tensor] : predictor.state()) out[name] = tensor.clone();
  return out;
}

TEST(SharedPredictor, AStepForEachLayerIsTheJointStepOfOneLayer) {
  OddNet net;
  const std::vector<nn::WeightLayer*> one{net.layers[1]}, two{net.layers[1], net.layers[2]};
  const auto joint = taught(one, "joint"), single = taught(one, "per-layer");
  for (const auto& [name, tensor] : joint) EXPECT_TRUE(at::equal(tensor, single.at(name))) << name;
  const auto both = taught(two, "joint"), each = taught(two, "per-layer");
  for (const char* name : {"param.conv.weight", "param.fc.weight", "param.fc.bias"}) {
    EXPECT_FALSE(at::equal(both.at(name), each.at(name))) << name;
  }
  EXPECT_EQ(both.at("optimizer.step.fc.weight").item<float>(), 3);
  EXPECT_EQ(each.at("optimizer.step.fc.weight").item<float>(), 6);
}

TEST(SharedPredictor, StagesOfAPipelineTeachItInOneStep) {
  OddNet net;
  Config config;
  PredictorSync sync;
  sync.sum = [](std::vector<at::Tensor>&) {};
  EXPECT_NO_THROW(SharedPredictor(net.layers, config, 5, 100, sync));
  config.steps = "per-layer";
  try {
    const SharedPredictor predictor(net.layers, config, 5, 100, sync);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("predictor.steps = per-layer"), std::string::npos);
  }
}

// The features are as many in both orders; the convolution works on 4x4 instead of 8x8 cells.
TEST(SharedPredictor, PoolingFirstConvolvesAQuarterOfTheCells) {
  OddNet net;
  Config config;
  const SharedPredictor usual(net.layers, config, 5, 100);
  config.order = "pool-conv";
  SharedPredictor other(net.layers, config, 5, 100);
  EXPECT_EQ(other.parameter_count(), usual.parameter_count());
  double rows = 0;
  for (const auto* layer : net.layers) rows += static_cast<double>(layer->info().rows());
  EXPECT_EQ(usual.macs(1) - other.macs(1), rows * 16 * 9 * (64 - 16));
  EXPECT_EQ(usual.learning_macs(1) - other.learning_macs(1), 3 * rows * 16 * 9 * (64 - 16));
  // A summary that is constant in every cell of the 4x4 map is what the convolution sees of it.
  Summaries summaries(net.layers, config.summary);
  testing_net::fill(summaries, 2);
  Collect whole, averaged;
  other.predict(summaries, {}, whole);
  const at::Tensor cells = at::adaptive_avg_pool2d(summaries.rows().view({-1, 1, 8, 8}), {4, 4});
  summaries.rows().copy_(cells.repeat_interleave(2, 2).repeat_interleave(2, 3).view({-1, 64}));
  other.predict(summaries, {}, averaged);
  for (const auto& [l, gradient] : whole.gradients) {
    EXPECT_TRUE(at::allclose(gradient, averaged.gradients.at(l), 1e-5, 1e-6)) << l;
  }
}

TEST(SharedPredictor, ALayerDependsOnItsOwnOutputsAlone) {
  at::manual_seed(3);
  OddNet net;
  Config config;
  SharedPredictor predictor(net.layers, config, 5, 100);
  Summaries summaries(net.layers, config.summary);
  testing_net::fill(summaries, 2);
  Collect before, after;
  predictor.predict(summaries, {}, before);
  // Outputs 18 and up serve only the layer with 75 weights per filter (b).
  auto state = predictor.state();
  state["param.fc.weight"] = state["param.fc.weight"].clone();
  state["param.fc.weight"].narrow(0, 18, 57).add_(1.0);
  predictor.load_state(state);
  predictor.predict(summaries, {}, after);
  for (size_t l = 0; l < net.layers.size(); ++l) {
    EXPECT_EQ(at::equal(before.gradients[l], after.gradients[l]), l != 1) << l;
  }
}

TEST(SharedPredictor, GradientsHaveTheWeightsLayout) {
  OddNet net;
  for (auto* layer : net.layers) {
    if (layer->weight.dim() == 4) {
      layer->weight.set_data(layer->weight.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
  Config config;
  SharedPredictor predictor(net.layers, config, 5, 100);
  Summaries summaries(net.layers, config.summary);
  testing_net::fill(summaries, 2);
  Collect sink;
  sink.unwanted = 3;
  predictor.predict(summaries, {}, sink);
  EXPECT_FALSE(sink.gradients.contains(3));
  for (const auto& [l, strides] : sink.strides) {
    const at::Tensor& weight = net.layers[l]->weight;
    for (int64_t d = 0; d < weight.dim(); ++d) {
      if (weight.size(d) == 1) continue;  // a stride that is never used
      EXPECT_EQ(strides[d], weight.stride(d)) << l << " dimension " << d;
    }
  }
}

TEST(SharedPredictor, LearnsAGradientThatStaysTheSame) {
  at::manual_seed(2);
  OddNet net;
  Config config;
  config.lr = 1e-2;
  SharedPredictor predictor(net.layers, config, 5, 100);
  Summaries summaries(net.layers, config.summary);
  testing_net::fill(summaries, 2);
  const auto gradients = testing_net::random_gradients(net.layers);
  const double first = predictor.observe(summaries, gradients).item<double>();
  double last = first;
  for (int i = 0; i < 200; ++i) last = predictor.observe(summaries, gradients).item<double>();
  // Every row has features of its own, so a fixed target can be fitted.
  EXPECT_LT(last, 0.1 * first);
}

TEST(SharedPredictor, GoesOnFromItsSavedStateBitForBit) {
  at::manual_seed(4);
  OddNet net;
  Config config;
  SharedPredictor one(net.layers, config, 5, 100), other(net.layers, config, 99, 100);
  Summaries summaries(net.layers, config.summary);
  testing_net::fill(summaries, 2);
  const auto gradients = testing_net::random_gradients(net.layers);
  for (int i = 0; i < 3; ++i) one.observe(summaries, gradients);
  std::map<std::string, at::Tensor> saved;
  for (const auto& [name, tensor] : one.state()) saved[name] = tensor.clone();
  other.load_state(saved);
  for (int i = 0; i < 3; ++i) {
    one.observe(summaries, gradients);
    other.observe(summaries, gradients);
  }
  const auto left = one.state(), right = other.state();
  for (const auto& [name, tensor] : left) EXPECT_TRUE(at::equal(tensor, right.at(name))) << name;
}

TEST(RunningRms, FirstSetsThenDecays) {
  RunningRms rms({"a"}, true, at::kDouble);
  EXPECT_EQ(rms.scale(0).item<double>(), 1.0);
  rms.update(0, at::full({4}, 2.0, at::kDouble));
  EXPECT_NEAR(rms.scale(0).item<double>(), 2.0, 1e-12);
  rms.update(0, at::full({4}, 3.0, at::kDouble));
  EXPECT_NEAR(rms.scale(0).item<double>(), std::sqrt(0.95 * 4 + 0.05 * 9), 1e-12);
  RunningRms raw({"a"}, false, at::kDouble);
  raw.update(0, at::full({4}, 2.0, at::kDouble));
  EXPECT_EQ(raw.scale(0).item<double>(), 1.0);
}

}  // namespace
}  // namespace adagp::predictor
