// Do copies of a network whose shares of a batch are unlike compute what one process computes of
// the whole batch? Copies are threads.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/norm_sync.h"
#include "adagp/engine/step/predicted_step.h"
#include "adagp/engine/step/team.h"
#include "adagp/teams/parallel/executor.h"
#include "unit/comm/fake_group.h"
#include "unit/train/small.h"

namespace adagp::parallel {
namespace {

struct OneOfThree : step::SoloTeam {
  int64_t copies() const override { return 3; }
};

// Without norms, in fp64: sums of up to 1e5 terms in another order stay far below 1e-9.
TEST(Shares, UnlikeOnesMakeTheGradientOfTheWeightedBatch) {
  config::RunConfig config = small::config("bp");
  config.model.name = "vgg11";
  config.model.width_divisor = 16;
  config.data.synthetic_size = 32;
  config.accumulate = 2;
  const task::TaskPtr task = task::open_task(config);
  const auto session = [&] {
    step::Session s = step::make_session(config, task, task::build_net(config, *task),
                                         std::make_shared<OneOfThree>());
    s.net->to(at::kDouble);
    s.net->train();
    return s;
  };
  data::Batch batch = task->batches(config, task::Use::kTrain, at::kCPU)->next();
  batch.inputs[0] = batch.inputs[0].to(at::kDouble);
  batch.weights = at::linspace(0.5, 2, 10, at::kDouble);
  const step::Session whole = session();
  const at::Tensor logits = whole.net->run(batch.inputs)[0];
  const at::Tensor each = at::cross_entropy_loss(logits, batch.targets[0], {}, at::Reduction::None);
  (each * batch.weights).mean().backward();

  pipeline::Request request;
  request.schedule = "dapple";
  request.devices = 1;
  request.micro_batches = 2;
  const auto placement = pipeline::make_placement(request);
  for (const int64_t frozen : {0, 2}) {
    std::map<std::string, at::Tensor> sums;
    for (int64_t copy = 0; copy < 3; ++copy) {
      step::Session s = session();
      s.first_block = frozen;
      const auto own = data::EpochPlan::Part{0, 10}.share(copy, 3);  // 3, 3 and 4; 1 + 2 or 2 + 2
      data::Batch share = batch.part(own.begin, own.count);
      share.whole = 10;
      Executor executor(placement, {}, nullptr, 0);
      const step::StepResult result = executor.run(s, share, pipeline::Phase::kBackprop, false);
      const double expected = each.narrow(0, own.begin, own.count).mean().item<double>();
      EXPECT_NEAR(result.loss.item<double>(), expected, 1e-9 * expected);
      for (const auto& item : s.net->named_parameters()) {
        const at::Tensor gradient = item.value().grad();
        if (!gradient.defined()) continue;
        at::Tensor& sum = sums[item.key()];
        sum = sum.defined() ? sum + gradient : gradient.clone();
      }
    }
    for (const auto& item : whole.net->named_parameters()) {
      // The first two blocks have a convolution each.
      const bool first =
          item.key().starts_with("features.0.") || item.key().starts_with("features.3.");
      const bool moves = frozen == 0 || !first;
      ASSERT_EQ(sums.contains(item.key()), moves) << item.key();
      if (!moves) continue;
      const at::Tensor expected = item.value().grad();
      EXPECT_LE((sums[item.key()] / 3 - expected).norm().item<double>(),
                1e-9 * expected.norm().item<double>())
          << item.key();
    }
  }
}

// Copies that average predictions in place of summaries.
class Averaging : public step::SoloTeam {
 public:
  Averaging(std::shared_ptr<testing::Exchange> exchange, int rank)
      : group_(std::move(exchange), rank) {}

  int64_t copies() const override { return group_.size(); }
  bool averages_predictions() const override { return true; }
  void sum_over_copies(at::Tensor& tensor, const char* doing) override {
    std::vector<at::Tensor> one{tensor};
    group_.sum(one, doing);
  }

 private:
  testing::FakeGroup group_;
};

// A "prediction" that is a mean over the examples, so that the mean of those of the copies is that
// of the whole batch: 5/3 of 0 | 1 and 4. As equals, the copies would make it 5/4. In fp32: weights
// below 1 that are rounded to 6e-8 move by 1e-4 and more.
TEST(Shares, UnlikeOnesPredictTheGradientOfTheWholeBatch) {
  config::RunConfig config = small::config("adagp");
  config.model.name = "vgg11";  // without norms
  config.model.width_divisor = 16;
  config.data.synthetic_size = 32;
  config.head = "exact";
  config.batch = 3;
  config.optim.momentum = 0;
  const task::TaskPtr task = task::open_task(config);
  data::Batch whole = task->batches(config, task::Use::kTrain, at::kCPU)->next();
  whole.targets[0] = at::arange(3, at::kLong);
  const auto source = [](step::Session& s, const predictor::Context& context,
                         predictor::GradientSink& sink) {
    const at::Tensor mean = context.targets.at(0).to(at::kFloat).square().mean();
    for (size_t l = 0; l < s.layers.size(); ++l) {
      if (sink.wants(l)) sink.accept(l, at::ones_like(s.layers[l]->weight).mul_(mean));
    }
  };
  const auto moved = [&](std::shared_ptr<step::Team> team, const data::Batch& batch) {
    step::Session s =
        step::make_session(config, task, task::build_net(config, *task), std::move(team));
    s.net->train();
    s.set_lr(0.01);
    step::add_summaries(s);
    const auto before = small::copy_of(*s.net);
    step::predicted_step(s, batch, source);
    auto out = small::copy_of(*s.net);
    for (auto& [name, value] : out) value.sub_(before.at(name));
    return out;
  };
  const auto expected = moved(nullptr, whole);
  const auto exchange = std::make_shared<testing::Exchange>(2);
  std::vector<std::map<std::string, at::Tensor>> found(2);
  testing::expect_no_errors(testing::on_threads(*exchange, [&](int rank) {
    const auto own = data::EpochPlan::Part{0, 3}.share(rank, 2);
    data::Batch share = whole.part(own.begin, own.count);
    share.whole = 3;
    found[static_cast<size_t>(rank)] = moved(std::make_shared<Averaging>(exchange, rank), share);
  }));
  int64_t tensors = 0;
  for (const auto& [name, by] : expected) {
    const double size = by.norm().item<double>();
    if (size > 0) ++tensors;
    for (const auto& copy : found) {
      EXPECT_LE((copy.at(name) - by).norm().item<double>(), 1e-3 * size) << name;
    }
  }
  EXPECT_EQ(tensors, 10);
}

// In fp32, with values near 1: means of 250 of them differ by some roundings of 6e-8.
TEST(Shares, UnlikeOnesAreNormalisedAsTheWhole) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({10, 3, 5, 5}).mul_(2).add_(1), factor = at::rand({10, 3, 5, 5});
  const at::Tensor weight = at::rand({3}), bias = at::rand({3});
  struct Result {
    at::Tensor y, of_x, of_weight, of_bias, mean = at::zeros({3}), variance = at::ones({3});
  };
  // `share`: what the mean of these rows' losses counts.
  const auto pass = [&](int64_t begin, int64_t count, double share, const nn::NormSync* sync) {
    Result out;
    const at::Tensor in = x.narrow(0, begin, count).clone().requires_grad_();
    const at::Tensor w = weight.clone().requires_grad_(), b = bias.clone().requires_grad_();
    out.y = sync != nullptr
                ? synced_batch_norm(*sync, in, w, b, out.mean, out.variance, 0.1, 1e-5)
                : at::batch_norm(in, w, b, out.mean, out.variance, true, 0.1, 1e-5, false);
    ((out.y.square() * factor.narrow(0, begin, count)).mean() * share).backward();
    out.of_x = in.grad();
    out.of_weight = w.grad();
    out.of_bias = b.grad();
    return out;
  };
  const Result whole = pass(0, 10, 1, nullptr);
  const auto exchange = std::make_shared<adagp::testing::Exchange>(3);
  std::vector<Result> results(3);
  adagp::testing::expect_no_errors(adagp::testing::on_threads(*exchange, [&](int rank) {
    adagp::testing::FakeGroup group(exchange, rank);
    const auto own = data::EpochPlan::Part{0, 10}.share(rank, 3);
    const nn::NormSync sync{[&](at::Tensor& values) {
                              std::vector<at::Tensor> one{values};
                              group.sum(one, "statistics");
                            },
                            3, static_cast<double>(own.count * 3) / 10};
    results[static_cast<size_t>(rank)] = pass(own.begin, own.count, sync.weight, &sync);
  }));
  const auto near = [](const at::Tensor& found, const at::Tensor& expected) {
    return at::allclose(found, expected, 1e-5, 1e-6);
  };
  const auto all = [&](at::Tensor Result::*member) {
    return at::cat({results[0].*member, results[1].*member, results[2].*member});
  };
  EXPECT_TRUE(near(all(&Result::y), whole.y));
  EXPECT_TRUE(near(all(&Result::of_x) / 3, whole.of_x));
  for (const auto member : {&Result::of_weight, &Result::of_bias}) {
    EXPECT_TRUE(
        near((results[0].*member + results[1].*member + results[2].*member) / 3, whole.*member));
  }
  for (const Result& result : results) {
    EXPECT_TRUE(near(result.mean, whole.mean));
    EXPECT_TRUE(near(result.variance, whole.variance));
  }
}

}  // namespace
}  // namespace adagp::parallel
