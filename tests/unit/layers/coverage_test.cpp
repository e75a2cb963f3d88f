// Which parameters a GP step predicts, computes or leaves alone.

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/nn/embedding.h"
#include "adagp/engine/nn/layer.h"

namespace adagp::layers {
namespace {

TEST(Coverage, CountsEveryParameterOnce) {
  for (const std::string name : {"vgg8s", "resnet8"}) {
    const auto net = models::build(name, {models::Form::kCifar, 10, 1});
    int64_t total = 0, predicted = 0;
    std::set<std::string> names;
    for (const Coverage& row : coverage(*net, "predicted")) {
      total += row.parameters;
      names.insert(row.name);
      EXPECT_NE(row.kind, "other") << row.name;
      if (row.treatment == "predicted") predicted += row.parameters;
    }
    EXPECT_EQ(total, models::parameter_count(*net));
    EXPECT_EQ(names.size(), net->parameters().size());
    EXPECT_EQ(predicted, total_weights(from_model(*net, name, "cifar")));
  }
}

TEST(Coverage, TiedEmbeddingIsNamedAndFrozen) {
  nn::ShapeOnlyScope shapes;
  models::Options options;
  options.transformer.tied = true;
  const auto net = models::build("transformer", options);
  std::map<std::string, Coverage> found;
  for (const Coverage& row : coverage(*net, "predicted")) found[row.name] = row;
  EXPECT_EQ(found.at("tgt_embedding.weight").kind, "tied embedding");
  EXPECT_EQ(found.at("tgt_embedding.weight").treatment, "frozen");
  EXPECT_EQ(found.at("src_embedding.weight").kind, "embedding");
  EXPECT_EQ(found.at("generator.bias").kind, "bias");
  const std::string attention = "transformer.encoder.layers.0.self_attn.";
  EXPECT_EQ(found.at(attention + "in_proj_weight").treatment, "predicted");
  EXPECT_EQ(found.at(attention + "in_proj_bias").kind, "bias");
  EXPECT_EQ(found.at("transformer.encoder.norm.weight").kind, "norm");
}

// Whatever the two embeddings are called and however many words each has.
class TwoEmbeddings : public models::Net {
 public:
  class Output : public torch::nn::Module, public models::BorrowsWeight {
   public:
    explicit Output(nn::Embedding words) : words_(std::move(words)) {
      register_parameter("bias", at::zeros({7}));
    }
    const at::Tensor& borrowed_weight() const override { return words_->weight; }

   private:
    nn::Embedding words_;
  };
  explicit TwoEmbeddings(bool first) {
    auto one = register_module("src", nn::Embedding(7, 4));
    auto other = register_module("a", nn::Embedding(7, 4));
    register_module("out", std::make_shared<Output>(first ? one : other));
  }
  models::Tensors run(const models::Tensors& inputs) override { return inputs; }
  std::vector<std::string> heads() const override { return {}; }
};

TEST(Coverage, TiedIsWhatSharesTheTensor) {
  for (const bool first : {true, false}) {
    TwoEmbeddings net(first);
    std::map<std::string, std::string> kinds;
    for (const Coverage& row : coverage(net, "predicted")) kinds[row.name] = row.kind;
    EXPECT_EQ(kinds.at("src.weight"), first ? "tied embedding" : "embedding");
    EXPECT_EQ(kinds.at("a.weight"), first ? "embedding" : "tied embedding");
    EXPECT_EQ(kinds.at("out.bias"), "bias");
  }
}

// Row by row: what belongs to a layer, once each, is what the network has.
TEST(Coverage, TablesOfTiedNetworksHaveEveryParameter) {
  nn::ShapeOnlyScope shapes;
  models::Options options;
  options.transformer.tied = true;
  const auto net = models::build("transformer", options);
  int64_t total = 0;
  for (const auto& row : from_model(*net, "transformer", "tokens:8,8", Operations::kAll).rows) {
    total += row.weights + row.bias;
  }
  EXPECT_EQ(total, models::parameter_count(*net));
}

TEST(Coverage, EveryHeadIsOne) {
  nn::ShapeOnlyScope shapes;
  models::Options options;
  options.classes = 20;
  const auto net = models::build("yolov3", options);
  int64_t exact = 0;
  for (const Coverage& row : coverage(*net, "exact")) {
    if (row.treatment == "exact") exact += row.parameters;
  }
  // Three 1x1 convolutions to 3 * (5 + 20) channels, with bias.
  EXPECT_EQ(exact, 75 * (1024 + 512 + 256 + 3));
}

TEST(Coverage, HeadOptionMovesTheClassifier) {
  nn::ShapeOnlyScope shapes;
  const auto net = models::build("vgg8s", {models::Form::kCifar, 10, 1});
  const auto treatment = [&](const std::string& head, const std::string& name) {
    for (const Coverage& row : coverage(*net, head)) {
      if (row.name == name) return row.treatment;
    }
    return std::string("absent");
  };
  EXPECT_EQ(treatment("predicted", "classifier.weight"), "predicted");
  EXPECT_EQ(treatment("predicted", "classifier.bias"), "frozen");
  EXPECT_EQ(treatment("exact", "classifier.weight"), "exact");
  EXPECT_EQ(treatment("exact", "classifier.bias"), "exact");
  EXPECT_EQ(treatment("frozen", "classifier.weight"), "frozen");
  EXPECT_EQ(treatment("exact", "features.0.weight"), "predicted");
  EXPECT_EQ(treatment("exact", "features.1.weight"), "frozen");
  EXPECT_THROW(coverage(*net, "exakt"), UsageError);
}

}  // namespace
}  // namespace adagp::layers
