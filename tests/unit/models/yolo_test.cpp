// YOLO-v3: parameters, shapes, cuts, and the forward pass against PyTorch.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::models {
namespace {

Options slim(int64_t classes) {
  Options options;
  options.classes = classes;
  options.width_divisor = 16;
  return options;
}

TEST(Yolo, HasThePublishedNumberOfParameters) {
  const nn::ShapeOnlyScope shapes;
  Options options;
  options.classes = 80;
  // The published weights are a header of 20 bytes and 62,001,757 floats, of which the running mean
  // and variance of the 26,304 normalised channels are not parameters.
  EXPECT_EQ(parameter_count(*build("yolov3", options)), 62'001'757 - 2 * 26'304);
  EXPECT_EQ(parameter_count(*build("yolov3", options)), 61'949'149);
}

TEST(Yolo, GivesOneMapPerStride) {
  const nn::ShapeOnlyScope shapes;
  Options options;
  options.classes = 20;
  const auto net = build("yolov3", options);
  const auto maps = net->run({at::empty({2, 3, 416, 320}, at::device(at::kMeta))});
  ASSERT_EQ(maps.size(), 3U);
  EXPECT_EQ(maps[0].sizes(), (std::vector<int64_t>{2, 75, 52, 40}));
  EXPECT_EQ(maps[1].sizes(), (std::vector<int64_t>{2, 75, 26, 20}));
  EXPECT_EQ(maps[2].sizes(), (std::vector<int64_t>{2, 75, 13, 10}));
  EXPECT_THROW(net->run({at::empty({2, 3, 400, 400}, at::device(at::kMeta))}), UsageError);
  const auto layers = nn::collect(*net);
  EXPECT_EQ(layers.size(), 75U);  // 52 of Darknet-53 and 23 behind them
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(layers[layers.size() - 3 + i]->path(), net->heads()[i]);
  }
}

TEST(Yolo, AgreesWithPyTorch) {
  const adagp::testing::TempFolder folder;
  adagp::testing::run_python("tests/golden/yolo.py", folder.path().string());
  const auto file = io::load_tensors(folder / "yolo.safetensors").tensors;
  const auto net = build("yolov3", slim(3));
  const torch::NoGradGuard no_grad;
  size_t used = 0;
  for (const auto& named : {net->named_parameters(), net->named_buffers()}) {
    for (const auto& item : named) {
      const auto found = file.find("state." + item.key());
      ASSERT_NE(found, file.end()) << item.key();
      ASSERT_EQ(item.value().sizes(), found->second.sizes()) << item.key();
      at::Tensor(item.value()).copy_(found->second);
      ++used;
    }
  }
  EXPECT_EQ(used + 7, file.size());  // nothing of the state is left over
  for (const std::string mode : {"eval", "train"}) {
    net->train(mode == "train");
    const auto maps = net->run({file.at("images")});
    for (size_t i = 0; i < maps.size(); ++i) {
      const at::Tensor& expected = file.at(core::cat(mode, ".", i));
      // Sums of up to 4608 products in another order, through 75 layers: a few hundred roundings of
      // 6e-8 of the largest value.
      EXPECT_LT((maps[i] - expected).abs().max().item<float>(),
                1e-4 * expected.abs().max().item<float>())
          << mode << i;
    }
  }
}

TEST(Yolo, CanBeCutAnywhere) {
  at::manual_seed(4);
  const auto net = build("yolov3", slim(2));
  net->eval();
  const auto& blocks = dynamic_cast<const BlockNet&>(*net).blocks();
  const torch::NoGradGuard no_grad;
  const Tensors input{at::randn({1, 3, 64, 96})};
  const Tensors whole = net->run(input);
  Tensors x = input;
  for (const Block& block : blocks) {
    // Only what is handed on reaches the next block: copies, as if from another process.
    Tensors crossing;
    for (const at::Tensor& t : x) crossing.push_back(t.clone());
    x = block.run(crossing);
    EXPECT_LE(x.size(), 4U);
  }
  ASSERT_EQ(x.size(), whole.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(at::equal(x[i], whole[i]));
}

TEST(Yolo, EveryParameterGetsAGradient) {
  const auto net = build("yolov3", slim(2));
  at::Tensor sum = at::zeros({});
  for (const auto& map : net->run({at::randn({2, 3, 64, 64})})) sum = sum + map.square().sum();
  sum.backward();
  for (const auto& item : net->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().max().item<float>(), 0.0F) << item.key();
  }
}

}  // namespace
}  // namespace adagp::models
