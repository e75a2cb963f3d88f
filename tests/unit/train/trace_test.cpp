// Do traces tell which operands are zero, and does training not notice them?

#include <gtest/gtest.h>

#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/nn/ops.h"
#include "adagp/engine/predictor/activations.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/train/trace.h"
#include "adagp/engine/train/trainer.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"
#include "unit/with_rivals.h"

namespace adagp::train {
namespace {

TEST(Trace, PacksEightValuesAByteFromTheLowestBit) {
  const at::Tensor values = at::tensor({1., 0., 0., -2., 0., 0., 0., 3., 0., 5.}).view({1, 10});
  const at::Tensor packed = packed_nonzeros(values);
  EXPECT_EQ(packed.sizes(), (at::IntArrayRef{1, 2}));
  EXPECT_EQ(packed[0][0].item<int>(), 1 + 8 + 128);
  EXPECT_EQ(packed[0][1].item<int>(), 2);
  // Each row begins a new byte, and a NaN is no zero.
  EXPECT_EQ(packed_nonzeros(at::tensor({0., NAN, 7.}).view({3, 1})).flatten()[1].item<int>(), 1);
}

// One value of bits [a, b, c, bytes].
bool bit(const at::Tensor& bits, int64_t a, int64_t b, int64_t c, int64_t channel) {
  const auto values = bits.accessor<uint8_t, 4>();
  return (values[a][b][c][channel / 8] >> (channel % 8) & 1) != 0;
}

config::RunConfig trace_config() {
  config::RunConfig c = small::config("bp");
  c.model.name = "vgg8s";
  c.model.width_divisor = 8;
  return c;
}

TEST(Trace, BitsAndDensitiesAreThoseOfTheTensorsAtTheLayers) {
  const config::RunConfig c = trace_config();
  step::Session s = small::session(c);
  const data::Batch batch = small::batch(c);
  int64_t kept = 0;
  const io::TensorMap found = trace_batch(s, batch, 3, kept);
  EXPECT_EQ(kept, 3);
  predictor::Activations seen(s.layers, {.inputs = true, .deltas = true});
  {
    const nn::TapScope scope(seen);
    step::backprop(s, batch);
  }
  bool zeros_in_x = false;
  for (size_t l = 0; l < s.layers.size(); ++l) {
    const nn::WeightLayer& layer = *s.layers[l];
    const auto map = [](const at::Tensor& x) {  // [B, H, W, C]
      return x.dim() == 4 ? x.permute({0, 2, 3, 1}).contiguous() : x.reshape({x.size(0), 1, 1, -1});
    };
    const at::Tensor weight = layer.weight.detach();
    const std::vector<std::pair<std::string, at::Tensor>> operands{
        {"x", map(seen.input(l).detach())}, {"dy", map(seen.delta(l))}, {"w", map(weight)}};
    const at::Tensor density = found.at(layer.path() + "/density");
    const at::Tensor shape = found.at(layer.path() + "/shape");
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto& [name, values] = operands[i];
      const std::string what = layer.path() + "/" + name;
      const at::Tensor bits = found.at(what + ".bits");
      const int64_t rows = name == "w" ? values.size(0) : 3;
      ASSERT_EQ(bits.sizes().vec(), (std::vector<int64_t>{rows, values.size(1), values.size(2),
                                                          (values.size(3) + 7) / 8}))
          << what;
      EXPECT_EQ(shape[static_cast<int64_t>(i)].item<int64_t>(), values.size(3)) << what;
      const auto at = values.accessor<float, 4>();
      int64_t nonzeros = 0, wrong = 0;
      for (int64_t a = 0; a < values.size(0); ++a) {
        for (int64_t b = 0; b < values.size(1); ++b) {
          for (int64_t d = 0; d < values.size(2); ++d) {
            for (int64_t channel = 0; channel < values.size(3); ++channel) {
              const bool set = at[a][b][d][channel] != 0;
              nonzeros += set;
              if (a < rows) wrong += bit(bits, a, b, d, channel) != set;
            }
          }
        }
      }
      EXPECT_EQ(wrong, 0) << what;
      EXPECT_FLOAT_EQ(
          density[static_cast<int64_t>(i)].item<float>(),
          static_cast<float>(static_cast<double>(nonzeros) / static_cast<double>(values.numel())))
          << what;
      zeros_in_x = zeros_in_x || (name == "x" && nonzeros < values.numel());
    }
  }
  EXPECT_TRUE(zeros_in_x);  // else nothing was tested
}

// Where the ReLU behind the layer has overwritten what the layer gave.
TEST(Trace, GradientsAreThoseOfTheLayersOwnOutput) {
  at::manual_seed(4);
  nn::Conv2d layer(nn::conv(3, 10, 3));
  TraceSink sink(2);
  sink.begin_part();
  const at::Tensor x = at::randn({2, 3, 6, 6});
  const at::Tensor raw = layer->forward(x).detach();
  {
    const nn::TapScope scope(sink);
    at::Tensor y = layer->forward(x);
    nn::relu_(y).sum().backward();
  }
  const at::Tensor bits = sink.tensors().at("/dy.bits");
  const at::Tensor positive = raw.gt(0).permute({0, 2, 3, 1}).contiguous();
  ASSERT_EQ(bits.sizes().vec(), (std::vector<int64_t>{2, 4, 4, 2}));
  for (int64_t i = 0; i < positive.numel(); ++i) {
    const int64_t channel = i % 10, column = i / 10 % 4, row = i / 40 % 4, example = i / 160;
    EXPECT_EQ(bit(bits, example, row, column, channel), positive.flatten()[i].item<bool>()) << i;
  }
  EXPECT_FLOAT_EQ(sink.tensors().at("/density")[1].item<float>(),
                  positive.to(at::kFloat).mean().item<float>());
}

// A linear layer of sentences gives a view of its product, which ReLU overwrites.
TEST(Trace, GradientsOfSentencesAreThoseOfTheLayersOwnOutput) {
  at::manual_seed(5);
  nn::Linear layer(6, 10, true);
  TraceSink sink(2);
  sink.begin_part();
  const at::Tensor x = at::randn({2, 3, 6});
  const at::Tensor raw = layer->forward(x).detach();
  {
    const nn::TapScope scope(sink);
    at::Tensor y = layer->forward(x);
    nn::relu_(y).sum().backward();
  }
  const at::Tensor bits = sink.tensors().at("/dy.bits");
  const at::Tensor positive = raw.gt(0);
  ASSERT_EQ(bits.sizes().vec(), (std::vector<int64_t>{2, 3, 1, 2}));
  for (int64_t i = 0; i < positive.numel(); ++i) {
    const int64_t channel = i % 10, word = i / 10 % 3, example = i / 30;
    EXPECT_EQ(bit(bits, example, word, 0, channel), positive.flatten()[i].item<bool>()) << i;
  }
}

TEST(Trace, HasTheNamesOfTheLayerTable) {
  const config::RunConfig c = trace_config();
  step::Session s = small::session(c);
  int64_t kept = 0;
  const io::TensorMap found = trace_batch(s, small::batch(c), 100, kept);
  EXPECT_EQ(kept, c.batch);
  const layers::Table table = layers::from_model(*s.net, c.model.name, "16x16");
  EXPECT_EQ(found.size(), 5 * table.rows.size());
  for (const layers::Row& row : table.rows) EXPECT_TRUE(found.contains(row.name + "/x.bits"));
}

TEST(Trace, MicroBatchesHaveTheDensitiesOfTheWholeBatch) {
  config::RunConfig c = trace_config();
  step::Session s = small::session(c);
  const data::Batch batch = small::batch(c);
  int64_t kept = 0;
  const io::TensorMap whole = trace_batch(s, batch, 8, kept);
  s.config.accumulate = 5;
  const io::TensorMap parts = trace_batch(s, batch, 8, kept);
  EXPECT_EQ(kept, 2);
  EXPECT_EQ(s.config.accumulate, 5);
  const std::string first = s.layers.front()->path();  // what it sees are the images themselves
  EXPECT_EQ(parts.at(first + "/density")[0].item<float>(),
            whole.at(first + "/density")[0].item<float>());
  EXPECT_TRUE(at::equal(parts.at(first + "/x.bits"), whole.at(first + "/x.bits").narrow(0, 0, 2)));
}

TEST(Trace, TrainingDoesNotNoticeIt) {
  const testing::TempFolder folder;
  for (const std::string& method :
       testing::with_rivals({"bp", "adagp", "stored-loss", "skip"}, {"modules", "dropback"})) {
    config::RunConfig c = small::config(method);
    c.epochs = 5;
    train(c, small::task(), folder / (method + "-plain"));
    c.trace.every = "2ep";
    train(c, small::task(), folder / (method + "-traced"));
    const auto bytes = [&](const std::string& kind, const char* file) {
      return core::read_file(folder / (method + kind) / file);
    };
    for (const char* file : {"weights.safetensors", "best.safetensors"}) {
      EXPECT_EQ(bytes("-plain", file), bytes("-traced", file)) << method << " " << file;
    }
    EXPECT_FALSE(core::fs::exists(folder / (method + "-plain") / "trace"));
    for (int epoch = 1; epoch <= 5; ++epoch) {
      const auto file = folder / (method + "-traced") / "trace" /
                        ("e00" + std::to_string(epoch) + ".safetensors");
      EXPECT_EQ(core::fs::exists(file), epoch % 2 == 0) << file;
      if (epoch % 2 != 0) continue;
      const auto metadata = io::load_tensors(file).metadata;
      EXPECT_EQ(metadata.at("network"), "resnet8");
      EXPECT_EQ(metadata.at("input"), "16x16");
      EXPECT_EQ(metadata.at("epoch"), std::to_string(epoch));
      EXPECT_EQ(metadata.at("batch"), "10");
      EXPECT_EQ(metadata.at("examples"), "8");
    }
  }
}

}  // namespace
}  // namespace adagp::train
