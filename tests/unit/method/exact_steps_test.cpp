// Cheap steps that are exact: is their gradient the one they promise?

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/step/exact_step.h"
#include "unit/method/exact_gradient.h"
#include "unit/train/small.h"

namespace adagp::method {
namespace {

using exact::expect_near;
using exact::moved;
using exact::plain;
using exact::slow_gradient;

TEST(LowRes, IsBackpropOnAreaMeans) {
  config::RunConfig c = plain("low-res");
  c.low_res.sizes = {8};
  step::Session s = small::session(c);
  const data::Batch batch = small::batch(c);
  const auto method = find_method("low-res").make(s);
  const data::Batch shown = method->transform_batch(batch, {0, 3, schedule::Phase::kPredict});
  EXPECT_EQ(shown.images().sizes(), (std::vector<int64_t>{10, 3, 8, 8}));
  EXPECT_TRUE(at::allclose(shown.images(), at::avg_pool2d(batch.images(), {2, 2})));
  EXPECT_TRUE(method->transform_batch(batch, {0, 3, schedule::Phase::kBackprop})
                  .images()
                  .is_same(batch.images()));
  const auto before = small::copy_of(*s.net);
  method->cheap_step(s, shown);
  expect_near(moved(s, before), slow_gradient(c, shown, at::arange(10)), "low-res");
  for (const auto& item : s.net->named_buffers()) {
    if (item.key().find("running") == std::string::npos) continue;
    EXPECT_TRUE(at::equal(item.value(), before.at(item.key()))) << item.key() << " moved";
  }
}

TEST(LowRes, BatchesGrowAsImagesShrink) {
  config::RunConfig c = small::config("progressive");
  c.batch = 12;
  c.epochs = 10;
  step::Session s = small::session(c);
  const auto method = find_method("progressive").make(s);
  std::vector<int64_t> sizes;
  for (int64_t e = 0; e < 10; ++e) {
    const int64_t planned = method->batch_plan().at({e, 10, {}}).examples;
    sizes.push_back(planned > 0 ? planned : s.config.batch);
  }
  // Of 16x16: 8x8 for 4 epochs, 4 times as many; 12x12 for 3, 16/9 times 12 is 21, in eights 16.
  EXPECT_EQ(sizes, (std::vector<int64_t>{48, 48, 48, 48, 16, 16, 16, 12, 12, 12}));
  c.low_res.scale_batch = false;
  step::Session fixed = small::session(c);
  EXPECT_FALSE(find_method("progressive").make(fixed)->batch_plan().resizes_batches);
}

TEST(Weights, WeighEachExamplesGradient) {
  const config::RunConfig c = plain("bp");
  step::Session s = small::session(c);
  data::Batch batch = small::batch(c);
  batch.weights = at::linspace(0.2, 2, 10);
  const auto before = small::copy_of(*s.net);
  step::backprop_step(s, batch);
  expect_near(moved(s, before), slow_gradient(c, batch, at::arange(10), batch.weights), "weights");
}

TEST(StoredLosses, AreTheLossesTheExamplesHad) {
  config::RunConfig c = plain("bp");
  c.accumulate = 2;
  c.label_smoothing = 0.1;  // not in what is stored
  step::Session s = small::session(c);
  s.stored_losses = at::full({60}, -1.0, at::kFloat);
  data::Batch batch = small::batch(c);
  batch.examples = at::tensor(batch.indices, at::kLong);
  step::Session reference = small::session(c);
  const step::StepResult seen = backprop(reference, batch);
  step::backprop_step(s, batch);
  const at::Tensor expected =
      at::cross_entropy_loss(seen.outputs[0], batch.labels(), {}, at::Reduction::None);
  EXPECT_TRUE(at::allclose(s.stored_losses.index_select(0, batch.examples), expected));
  EXPECT_EQ(s.stored_losses.eq(-1).sum().item<int64_t>(), 50);
}

TEST(KeepStatistics, NormsComputeTheSameAndLeaveTheirStatisticsAlone) {
  nn::BatchNorm2d norm(3);
  norm->train();
  const at::Tensor x = at::randn({4, 3, 5, 5});
  const at::Tensor usual = norm->forward(x);
  const at::Tensor mean = norm->running_mean.clone();
  {
    const nn::KeepStatistics scope;
    EXPECT_TRUE(at::equal(norm->forward(x), usual));
  }
  EXPECT_TRUE(at::equal(norm->running_mean, mean));
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
  norm->forward(x);
  EXPECT_FALSE(at::equal(norm->running_mean, mean));
}

}  // namespace
}  // namespace adagp::method
