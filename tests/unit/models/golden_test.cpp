// Our networks against torchvision's and timm's: names, shapes, weights from a seed, logits,
// gradients, losses.

#include <algorithm>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/files.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/nn/layer.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::models {
namespace {

constexpr uint64_t kSeed = 3;  // of tests/golden/models.py

// Quick on a busy machine, where threads that wait for each other cost ten times the work.
class OneThread : public ::testing::Environment {
  void SetUp() override { at::set_num_threads(1); }
};
[[maybe_unused]] const auto* const one_thread = ::testing::AddGlobalTestEnvironment(new OneThread);

// Written once for all tests of this file.
const core::fs::path& golden_folder() {
  static const testing::TempFolder folder;
  static const bool written = [] {
    testing::run_python("tests/golden/models.py", folder.path().string());
    return true;
  }();
  (void)written;
  return folder.path();
}

class Golden : public ::testing::Test {
 protected:
  static const core::fs::path& folder() { return golden_folder(); }
  static io::TensorMap load(const std::string& name) {
    return io::load_tensors(folder() / (name + ".safetensors")).tensors;
  }
};

// Copies "<prefix>*" into the model. Every name of the file must exist with its shape, but for
// `left_out` names, which belong to parts that the model lacks.
void load_state(Net& net, const io::TensorMap& file, const std::string& prefix = "state.",
                const std::string& left_out = "nothing") {
  torch::NoGradGuard no_grad;
  const auto parameters = net.named_parameters();
  const auto buffers = net.named_buffers();
  for (const auto& [key, value] : file) {
    if (!key.starts_with(prefix)) continue;
    const std::string name = key.substr(prefix.size());
    if (name.starts_with(left_out)) continue;
    const at::Tensor* mine = parameters.find(name);
    if (mine == nullptr) mine = buffers.find(name);
    ASSERT_NE(mine, nullptr) << name;
    ASSERT_EQ(mine->sizes(), value.sizes()) << name;
    at::Tensor(*mine).copy_(value);
  }
}

// Both sides in fp32, with sums in another order.
void expect_logits(const at::Tensor& found, const at::Tensor& expected, const std::string& name) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << name;
  const double worst = (found - expected).abs().max().item<double>();
  EXPECT_LE(worst, 1e-4 * expected.abs().max().item<double>()) << name;
}

double norm_of(const at::Tensor& x) {
  return x.norm().item<double>();
}

nlohmann::json shapes_of(const torch::OrderedDict<std::string, at::Tensor>& items) {
  auto out = nlohmann::json::array();
  for (const auto& item : items) out.push_back({item.key(), item.value().sizes().vec()});
  return out;
}

TEST_F(Golden, NamesShapesAndOrderAreTheirs) {
  const auto expected = nlohmann::json::parse(core::read_file(folder() / "names.json"));
  ASSERT_EQ(expected.size(), 20u);
  nn::ShapeOnlyScope shapes;
  for (const auto& [name, tensors] : expected.items()) {
    const auto net = build(name, {});
    EXPECT_EQ(shapes_of(net->named_parameters()), tensors["parameters"]) << name;
    EXPECT_EQ(shapes_of(net->named_buffers()), tensors["buffers"]) << name;
  }
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
  torch::manual_seed(kSeed);  // what dropout drops
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

TEST_F(Golden, NarrowDenseNet121TrainsAsInPyTorch) {
  expect_same_training("densenet121", load("small.densenet121"));
}

TEST_F(Golden, NarrowMobileNetTrainsAsInPyTorch) {
  expect_same_training("mobilenet_v2", load("small.mobilenet_v2"));
}

TEST_F(Golden, NarrowVggsLogitsAreTorchvisions) {
  for (const std::string name : {"vgg11_bn", "vgg13", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"}) {
    const auto golden = load("narrow." + name);
    const auto net = build(name, {Form::kImagenet, 1000, 8});
    load_state(*net, golden);
    net->eval();
    torch::NoGradGuard no_grad;
    expect_logits(net->forward(golden.at("images")), golden.at("logits"), name);
  }
}

// The weights of a network just built from the seed, against those of the file (in bf16).
void expect_same_draws(Net& net, const io::TensorMap& golden, const std::string& name) {
  for (const nn::WeightLayer* layer : nn::collect(net)) {
    const auto found = golden.find("state." + layer->path() + ".weight");
    if (found == golden.end()) continue;  // too large for the file
    EXPECT_TRUE(at::equal(layer->weight.to(at::kBFloat16), found->second))
        << name << " " << layer->path();
  }
}

// Training mode for what decides by it, but running statistics for the norms.
void train_without_norms(Net& net) {
  net.train();
  for (const auto& module : net.modules(/*include_self=*/false)) {
    if (module->as<nn::BatchNorm2dImpl>() != nullptr) module->eval();
  }
}

// While one is installed: the most that live CPU tensors of this thread held.
class PeakBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    held_ += bytes;
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t held_ = 0, peak_ = 0;
};

class FullSize : public Golden, public ::testing::WithParamInterface<const char*> {};

TEST_P(FullSize, WeightsAndLogitsAreTheirs) {
  const std::string name = GetParam();
  const auto golden = load("large." + name);
  torch::manual_seed(kSeed);  // the largest weights are not in the file
  const auto net = build(name, {});
  expect_same_draws(*net, golden, name);
  for (at::Tensor& parameter : net->parameters()) {
    torch::NoGradGuard no_grad;
    if (parameter.dim() > 1) parameter.copy_(parameter.to(at::kBFloat16));
  }
  load_state(*net, golden);
  net->eval();
  torch::NoGradGuard no_grad;
  const auto memory = std::make_shared<PeakBytes>();
  Tensors outputs;
  {
    const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, memory);
    outputs = net->run({golden.at("images")});
  }
  ASSERT_EQ(outputs.size(), 1u) << name;
  expect_logits(outputs[0], golden.at("logits"), name);
  // With its weights, a forward pass holds about as much as theirs.
  const int64_t weights = 4 * parameter_count(*net);
  const int64_t theirs = golden.at("peak_bytes").item<int64_t>();
  ASSERT_GT(memory->peak(), 0);
  EXPECT_LE(static_cast<double>(memory->peak() + weights),
            1.1 * static_cast<double>(theirs + weights))
      << name << ": " << memory->peak() << " bytes, theirs " << theirs;

  if (golden.contains("auxiliary")) {
    train_without_norms(*net);
    const Tensors both = net->run({golden.at("images")});
    ASSERT_EQ(both.size(), 2u);
    expect_logits(both[1], golden.at("auxiliary"), "auxiliary logits of " + name);
  }
  if (golden.contains("cifar.logits")) {
    const auto small = build(name, {Form::kCifar, 1000, 1});
    io::TensorMap state = golden;
    for (const auto& [key, value] : golden) {
      if (key.starts_with("cifar.state.")) state[key.substr(6)] = value;
    }
    load_state(*small, state, "state.", "AuxLogits.");
    small->eval();
    expect_logits(small->forward(golden.at("cifar.images")), golden.at("cifar.logits"),
                  name + " in CIFAR form");
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, FullSize,
                         ::testing::Values("vgg11", "vgg13_bn", "resnet18", "resnet34", "resnet50",
                                           "resnet101", "resnet152", "densenet121", "densenet161",
                                           "densenet169", "densenet201", "mobilenet_v2",
                                           "inception_v3", "inception_v4"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace adagp::models
