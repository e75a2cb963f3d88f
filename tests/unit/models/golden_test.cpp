// Our networks against torchvision's: names, shapes, weights from a seed, logits, gradients,
// losses.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>
#include <nlohmann/json.hpp>

#include "adagp/core/files.h"
#include "adagp/core/text.h"
#include "adagp/io/tensors.h"
#include "adagp/models/model.h"
#include "adagp/nn/layer.h"

namespace adagp::models {
namespace {

constexpr uint64_t kSeed = 3;  // of tests/golden/models.py

class Golden : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder() = core::fs::temp_directory_path() / core::cat("adagp-golden-models-", getpid());
    const std::string command = core::cat("'", ADAGP_PYTHON, "' '", ADAGP_SOURCE_DIR,
                                          "/tests/golden/models.py' '", folder().string(), "'");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  static void TearDownTestSuite() { core::fs::remove_all(folder()); }

  static core::fs::path& folder() {
    static core::fs::path path;
    return path;
  }
  static io::TensorMap load(const std::string& name) {
    return io::load_tensors(folder() / (name + ".safetensors")).tensors;
  }
};

// Copies "state.*" into the model. Every name of the file must exist with its shape.
void load_state(Net& net, const io::TensorMap& file) {
  torch::NoGradGuard no_grad;
  const auto parameters = net.named_parameters();
  const auto buffers = net.named_buffers();
  const std::string prefix = "state.";
  for (const auto& [key, value] : file) {
    if (!key.starts_with(prefix)) continue;
    const std::string name = key.substr(prefix.size());
    const at::Tensor* mine = parameters.find(name);
    if (mine == nullptr) mine = buffers.find(name);
    ASSERT_NE(mine, nullptr) << name;
    ASSERT_EQ(mine->sizes(), value.sizes()) << name;
    at::Tensor(*mine).copy_(value);
  }
}

double norm_of(const at::Tensor& x) {
  return x.norm().item<double>();
}

nlohmann::json shapes_of(const torch::OrderedDict<std::string, at::Tensor>& items) {
  auto out = nlohmann::json::array();
  for (const auto& item : items) out.push_back({item.key(), item.value().sizes().vec()});
  return out;
}

TEST_F(Golden, NamesShapesAndOrderAreTorchvisions) {
  const auto expected = nlohmann::json::parse(core::read_file(folder() / "names.json"));
  ASSERT_EQ(expected.size(), 13u);
  nn::ShapeOnlyScope shapes;
  for (const auto& [name, tensors] : expected.items()) {
    const auto net = build(name, {});
    EXPECT_EQ(shapes_of(net->named_parameters()), tensors["parameters"]) << name;
    EXPECT_EQ(shapes_of(net->named_buffers()), tensors["buffers"]) << name;
  }
}

TEST_F(Golden, ASeedGivesTorchvisionsWeights) {
  torch::manual_seed(kSeed);
  const auto net = build("resnet18", {});
  const auto expected = load("init.resnet18");
  const auto mine = net->named_parameters();
  ASSERT_EQ(mine.size(), expected.size());
  for (const auto& item : mine) EXPECT_TRUE(at::equal(item.value(), expected.at(item.key())));
}

// fp64 on both sides; sums of up to 1e5 terms in another order stay far below 1e-9.
void expect_same_training(const std::string& name, const io::TensorMap& golden) {
  Options options{Form::kCifar, 10, 8};
  const auto net = build(name, options);
  net->to(at::kDouble);
  load_state(*net, golden);
  net->train();

  auto settings = torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(5e-4);
  torch::optim::SGD optimizer(net->parameters(), settings);
  const at::Tensor images = golden.at("images"), labels = golden.at("labels");
  const at::Tensor expected_losses = golden.at("losses");
  std::vector<at::Tensor> losses;
  for (int64_t step = 0; step < images.size(0); ++step) {
    optimizer.zero_grad();
    const at::Tensor logits = net->forward(images[step]);
    const at::Tensor loss = at::cross_entropy_loss(logits, labels[step]);
    loss.backward();
    losses.push_back(loss.detach());
    if (step == 0) {
      const at::Tensor expected = golden.at("logits");
      EXPECT_LE(norm_of(logits - expected), 1e-9 * norm_of(expected));
      std::vector<at::Tensor> all;
      for (const auto& item : net->named_parameters()) {
        all.push_back(golden.at("grad." + item.key()).flatten());
      }
      // A bias before batch norm has gradient zero but for rounding: hence the absolute part.
      const double noise = 1e-13 * norm_of(at::cat(all));
      for (const auto& item : net->named_parameters()) {
        const at::Tensor gradient = golden.at("grad." + item.key());
        EXPECT_LE(norm_of(item.value().grad() - gradient), 1e-9 * norm_of(gradient) + noise)
            << item.key();
      }
    }
    optimizer.step();
  }
  EXPECT_LE(norm_of(at::stack(losses) - expected_losses), 1e-9 * norm_of(expected_losses));
}

TEST_F(Golden, NarrowVgg13TrainsAsInPyTorch) {
  expect_same_training("vgg13_bn", load("small.vgg13_bn"));
}

TEST_F(Golden, NarrowResNet50TrainsAsInPyTorch) {
  expect_same_training("resnet50", load("small.resnet50"));
}

TEST_F(Golden, FullSizeLogitsAreTorchvisions) {
  for (const std::string name : {"resnet18", "resnet50", "vgg11", "vgg13_bn"}) {
    const auto golden = load("large." + name);
    torch::manual_seed(kSeed);  // the largest weights are not in the file
    const auto net = build(name, {});
    load_state(*net, golden);
    net->eval();
    torch::NoGradGuard no_grad;
    const at::Tensor expected = golden.at("logits");
    const double worst = (net->forward(golden.at("images")) - expected).abs().max().item<double>();
    EXPECT_LE(worst, 1e-4 * expected.abs().max().item<double>()) << name;
  }
}

}  // namespace
}  // namespace adagp::models
