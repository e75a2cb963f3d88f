// What a tap sees of a dense block in one buffer.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/growing_map.h"
#include "gpu/train/dense_block.h"
#include "gpu/train/world.h"

namespace adagp {
namespace {

using test::DenseBlock;
using test::expect_close;
using test::GpuTest;
using test::kEven;
using test::kLayers;
using test::kOdd;
using test::on_gpu;
using test::Sizes;

// Gives rows for the layer's summary, or asks for the tensors.
class OneTap : public nn::TapSink {
 public:
  explicit OneTap(bool with_rows) : with_rows_(with_rows) {}
  void on_output(const nn::WeightLayer&, const at::Tensor&, const at::Tensor& output) override {
    seen.push_back(output.clone());
  }
  std::optional<SummaryTarget> summary_target(const nn::WeightLayer& layer) override {
    if (!with_rows_) return {};
    rows.push_back(at::full({layer.info().rows(), 64}, -1.0F, at::kCUDA));
    return SummaryTarget{rows.back(), 8, 1, nullptr};
  }
  void on_summary(const nn::WeightLayer&) override { filled.push_back(rows.size()); }
  std::vector<at::Tensor> seen, rows;
  std::vector<size_t> filled;  // how many targets there were when one was filled

 private:
  bool with_rows_;
};

TEST_F(GpuTest, TheSummaryOfAGrowingMapRidesOnItsCopy) {
  for (const Sizes& sizes : {kEven, kOdd}) {
    SCOPED_TRACE(sizes.first);
    at::manual_seed(46);
    const at::NoGradGuard no_grad;
    DenseBlock block(sizes);
    block.to(at::kCUDA);
    const at::Tensor x = on_gpu(at::randn({3, sizes.first, 12, 12}));
    at::Tensor plain = x;
    for (size_t i = 0; i < kLayers; ++i) plain = block.layer(i, plain);
    for (const bool rows : {true, false}) {
      OneTap tap(rows);
      const nn::TapScope scope(tap);
      at::Tensor tapped = x;
      for (size_t i = 0; i < kLayers; ++i) tapped = block.layer(i, tapped);
      // By cells the statistics are added up in another order.
      expect_close(tapped, plain.cpu().to(at::kDouble), "with a tap");
      ASSERT_EQ(std::ssize(tap.rows), rows ? kLayers : 0);
      ASSERT_EQ(std::ssize(tap.seen), rows ? 0 : kLayers);
      ASSERT_EQ(tap.filled.size(), tap.rows.size());
      for (size_t i = 0; i < tap.filled.size(); ++i) EXPECT_EQ(tap.filled[i], i + 1);
      for (size_t i = 0; i < kLayers; ++i) {
        const at::Tensor added = tapped.narrow(1, sizes.before(i), sizes.growth);
        if (rows) {
          const at::Tensor mean = added.cpu().to(at::kDouble).mean(0).unsqueeze(1);
          expect_close(tap.rows[i], at::adaptive_avg_pool2d(mean, {8, 8}).flatten(1), "summary");
        } else {
          EXPECT_TRUE(at::equal(tap.seen[i], added)) << "output";
        }
      }
    }
    // In evaluation there are no statistics to ride on.
    block.train(false);
    OneTap tap(true);
    const nn::TapScope scope(tap);
    block.grown(x);
    EXPECT_EQ(std::ssize(tap.seen), kLayers);
  }
}

// The predictor's summaries of a whole DenseNet, beside those of ATen on the CPU.
TEST_F(GpuTest, SummariesOfDenseNetEqualThoseOfAten) {
  auto config = test::world("fp32");
  config.model.name = "densenet121";
  for (const int64_t divisor : {4, 8}) {  // layers of eight channels and of four
    config.model.width_divisor = divisor;
    config.device = "cuda";
    step::Session s = test::session(config);
    const auto batch = test::batch(config);
    config.device = "cpu";
    step::Session host = test::session(config);
    const at::NoGradGuard no_grad;
    for (step::Session* each : {&s, &host}) {
      each->summaries->begin();
      const nn::TapScope taps(*each->summaries);
      each->net->forward(batch.images().to(each->device));
      each->summaries->end();
    }
    for (size_t l = 0; l < s.layers.size(); ++l) {
      const at::Tensor got = s.summaries->rows(l).cpu(), expected = host.summaries->rows(l);
      // TF32 off: fp32 through up to 120 convolutions and norms, summed in another order.
      EXPECT_LE((got - expected).norm().item<double>(), 1e-3 * expected.norm().item<double>())
          << s.layers[l]->path();
    }
  }
}

}  // namespace
}  // namespace adagp
