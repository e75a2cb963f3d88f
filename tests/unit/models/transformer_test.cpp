// The Transformer against torch.nn.Transformer with the same weights, and what padding, cuts and
// tying promise.

#include <gtest/gtest.h>
#include <torch/utils.h>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/io/tensors.h"
#include "adagp/engine/models/translator.h"
#include "adagp/engine/nn/layer.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::models {
namespace {

Options small_options() {
  Options options;
  options.transformer = {.source_words = 23,
                         .target_words = 29,
                         .width = 24,
                         .heads = 4,
                         .hidden = 40,
                         .encoder_layers = 2,
                         .decoder_layers = 3,
                         .longest = 40};
  return options;
}

std::shared_ptr<Net> small_net() {
  at::manual_seed(4);
  auto net = build("transformer", small_options());
  net->eval();
  return net;
}

const io::TensorMap& golden() {
  static const io::TensorMap file = [] {
    const adagp::testing::TempFolder folder;
    const auto path = folder / "transformer.safetensors";
    adagp::testing::run_python("tests/golden/transformer.py", path.string());
    return io::load_tensors(path).tensors;
  }();
  return file;
}

// Names and shapes must be those of the file, no more and no fewer.
void load(Net& net) {
  const torch::NoGradGuard no_grad;
  const auto parameters = net.named_parameters();
  size_t found = 0;
  for (const auto& [key, value] : golden()) {
    if (!key.starts_with("state.")) continue;
    const at::Tensor* mine = parameters.find(key.substr(6));
    ASSERT_NE(mine, nullptr) << key;
    ASSERT_EQ(mine->sizes(), value.sizes()) << key;
    at::Tensor(*mine).copy_(value);
    ++found;
  }
  EXPECT_EQ(found, parameters.size());
  EXPECT_EQ(net.named_buffers().size(), 0U);
}

TEST(Transformer, EqualsTorchNnTransformer) {
  const auto net = small_net();
  net->to(at::kDouble);
  load(*net);
  const auto& file = golden();
  const at::Tensor logits = net->run({file.at("source"), file.at("target")}).at(0);
  const double scale = file.at("logits").abs().max().item<double>();
  EXPECT_LT((logits - file.at("logits")).abs().max().item<double>(), 1e-9 * scale);

  const at::Tensor loss =
      at::cross_entropy_loss(logits.flatten(0, 1), file.at("follows").flatten(), {},
                             at::Reduction::Mean, /*ignore_index=*/1, /*label_smoothing=*/0.1);
  loss.backward();
  EXPECT_NEAR(loss.item<double>(), file.at("loss").item<double>(), 1e-9);
  for (const auto& item : net->named_parameters()) {
    const at::Tensor& expected = file.at("grad." + item.key());
    EXPECT_LT((item.value().grad() - expected).norm().item<double>(),
              1e-8 * (expected.norm().item<double>() + 1e-6))
        << item.key();
  }
}

TEST(Transformer, EqualsTorchNnTransformerInSinglePrecision) {
  const auto net = small_net();
  load(*net);
  const auto& file = golden();
  const at::Tensor logits = net->run({file.at("source"), file.at("target")}).at(0);
  const double scale = file.at("logits").abs().max().item<double>();
  EXPECT_LT((logits - file.at("logits")).abs().max().item<double>(), 1e-4 * scale);
}

TEST(Transformer, PaddingDoesNotChangeASentence) {
  const auto net = small_net();
  const torch::NoGradGuard no_grad;
  const at::Tensor source = at::tensor({5, 9, 7, 3}, at::kLong).view({1, 4});
  const at::Tensor target = at::tensor({2, 8, 6}, at::kLong).view({1, 3});
  const at::Tensor alone = net->run({source, target}).at(0);
  const at::Tensor longer_source = at::cat({source, at::full({1, 12}, 1, at::kLong)}, 1);
  const at::Tensor longer_target = at::cat({target, at::full({1, 5}, 1, at::kLong)}, 1);
  const at::Tensor padded = net->run({longer_source, longer_target}).at(0).narrow(1, 0, 3);
  // Sums over more (masked) keys may be taken in another order.
  EXPECT_TRUE(at::allclose(alone, padded, 1e-5, 1e-5));
}

TEST(Transformer, AWordDoesNotSeeTheWordsAfterIt) {
  const auto net = small_net();
  const torch::NoGradGuard no_grad;
  const at::Tensor source = at::tensor({5, 9, 7, 3}, at::kLong).view({1, 4});
  const at::Tensor a = net->run({source, at::tensor({2, 8, 6, 7}, at::kLong).view({1, 4})}).at(0);
  const at::Tensor b = net->run({source, at::tensor({2, 8, 5, 9}, at::kLong).view({1, 4})}).at(0);
  EXPECT_TRUE(at::allclose(a.narrow(1, 0, 2), b.narrow(1, 0, 2), 1e-6, 1e-6));
  EXPECT_FALSE(at::allclose(a.select(1, 2), b.select(1, 2), 1e-2, 1e-2));
}

TEST(Transformer, BlocksOneByOneAreTheNetwork) {
  const auto net = small_net();
  const torch::NoGradGuard no_grad;
  const Tensors inputs{at::randint(4, 23, {2, 6}, at::kLong),
                       at::randint(4, 29, {2, 4}, at::kLong)};
  Tensors x = inputs;
  auto& blocks = dynamic_cast<BlockNet&>(*net).blocks();
  EXPECT_EQ(blocks.size(), 1U + 2 + 1 + 3 + 1);
  for (const auto& block : blocks) x = block.run(x);
  EXPECT_TRUE(at::equal(x.at(0), net->run(inputs).at(0)));

  auto& translator = dynamic_cast<Translator&>(*net);
  const at::Tensor last = translator.next_word(inputs[1], translator.encode(inputs[0]));
  EXPECT_TRUE(at::allclose(last, x.at(0).select(1, 3), 1e-5, 1e-6));
}

TEST(Transformer, RunsOnShapesAlone) {
  const nn::ShapeOnlyScope shapes;
  const auto net = build("transformer", {});
  const auto numbers = at::device(at::kMeta).dtype(at::kLong);
  const auto out = net->run({at::empty({2, 9}, numbers), at::empty({2, 7}, numbers)});
  EXPECT_EQ(out.at(0).sizes(), (std::vector<int64_t>{2, 7, 8000}));
  // torch.nn.Transformer(512, 8, 3, 3, 2048) has 22,071,296 parameters; two embeddings and the
  // generator come on top.
  EXPECT_EQ(parameter_count(*net), 22071296 + 2 * 8000 * 512 + 8000 * 513);
}

TEST(Transformer, TiedOutputIsTheTargetEmbedding) {
  Options options = small_options();
  options.transformer.tied = true;
  const auto net = build("transformer", options);
  net->eval();
  EXPECT_TRUE(net->heads().empty());
  EXPECT_EQ(net->named_parameters().find("generator.weight"), nullptr);
  for (const auto* layer : nn::collect(*net)) EXPECT_NE(layer->path(), "generator");

  const at::Tensor source = at::tensor({5, 9, 3}, at::kLong).view({1, 3});
  const at::Tensor target = at::tensor({2, 8}, at::kLong).view({1, 2});
  const at::Tensor before = net->run({source, target}).at(0);
  {
    const torch::NoGradGuard no_grad;
    (*net->named_parameters().find("tgt_embedding.weight"))[17].mul_(
        2);  // not a word of the target
  }
  const at::Tensor after = net->run({source, target}).at(0);
  EXPECT_TRUE(at::allclose(after.select(2, 17), 2 * before.select(2, 17), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(after.select(2, 16), before.select(2, 16)));
}

TEST(Transformer, RefusesWhatCannotBe) {
  Options options = small_options();
  options.transformer.heads = 5;
  EXPECT_THROW(build("transformer", options), UsageError);
  options = small_options();
  options.transformer.decoder_layers = 0;
  EXPECT_THROW(build("transformer", options), UsageError);
  const auto net = small_net();
  const at::Tensor sentence = at::full({1, 41}, 5, at::kLong);
  EXPECT_THROW(net->run({sentence, sentence}), UsageError);
  EXPECT_THROW(net->run({sentence}), UsageError);
}

}  // namespace
}  // namespace adagp::models
