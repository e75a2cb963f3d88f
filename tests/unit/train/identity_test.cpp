// Is bp plain backprop, and adagp without GP batches bp? Bit for bit.

#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/optim/sgd.h>

#include "adagp/base/schedule/policy.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/train/trainer.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"
#include "unit/train/trained.h"
#include "unit/with_rivals.h"

namespace adagp::train {
namespace {

// The loop anybody would write, with LibTorch's own optimizer and loss.
io::TensorMap plain_loop(const config::RunConfig& c) {
  at::set_num_threads(1);
  auto net = task::build_net(c, *small::task());
  for (auto& parameter : net->parameters()) {
    if (parameter.dim() == 4) {
      parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
  torch::optim::SGD sgd(
      net->parameters(),
      torch::optim::SGDOptions(c.optim.lr).momentum(c.optim.momentum).weight_decay(c.optim.decay));
  const auto loader = small::task()->batches(c, task::Use::kTrain, at::kCPU);
  const int64_t total = c.epochs * loader->batches_per_epoch();
  const auto policy =
      schedule::make_policy(c.policy, c.optim.lr, total, loader->batches_per_epoch());
  net->train();
  for (int64_t step = 0; step < total; ++step) {
    const data::Batch batch = loader->next();
    static_cast<torch::optim::SGDOptions&>(sgd.param_groups()[0].options()).lr(policy->lr(step));
    sgd.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(batch.images()), batch.labels()).backward();
    sgd.step();
  }
  return run::state_dict(*net);
}

TEST(Identity, BpIsAPlainLoop) {
  const config::RunConfig c = small::config("bp");
  io::TensorMap expected;
  for (const auto& [name, tensor] : plain_loop(c)) expected[name] = tensor.contiguous();
  expect_equal(trained(c), expected);
}

TEST(Identity, AdagpWithScheduleBpIsBp) {
  config::RunConfig bp = small::config("bp"), adagp = small::config("adagp");
  adagp.schedule = "bp";
  expect_equal(trained(bp), trained(adagp));
}

TEST(Identity, SkipOfNothingIsBpAndOfSomethingIsNot) {
  config::RunConfig bp = small::config("bp"), skip = small::config("skip");
  skip.schedule = "bp";
  expect_equal(trained(bp), trained(skip));
  skip.schedule = "1:1";
  EXPECT_FALSE(at::equal(trained(bp).begin()->second, trained(skip).begin()->second));
}

TEST(Identity, CheapBatchesThatSaveNothingAreBp) {
  const auto bp = trained(small::config("bp"));
  config::RunConfig c = small::config("progressive");
  c.low_res.sizes = {16, 16, 16};
  expect_equal(trained(c), bp, "progressive with the whole size: ");
  c = small::config("low-res");
  c.low_res.sizes = {16};
  expect_equal(trained(c), bp, "low-res with the whole size: ");
  c = small::config("stored-loss");
  c.stored_loss_power = 0;
  expect_equal(trained(c), bp, "stored-loss with power 0: ");
  c = small::config("infobatch");
  c.infobatch_prune = 0;
  expect_equal(trained(c), bp, "infobatch that leaves out none: ");
  c = small::config("infobatch");
  c.select_anneal = 1;
  expect_equal(trained(c), bp, "infobatch that anneals all the time: ");
  c = small::config("freeze");
  c.freeze = {};
  c.freeze.at.clear();
  c.freeze.blocks.clear();
  expect_equal(trained(c), bp, "freeze of nothing: ");
}

TEST(Identity, CheapBatchesThatSaveAreNot) {
  const auto bp = trained(small::config("bp"));
  for (const std::string& name :
       testing::with_rivals({"progressive", "low-res", "stored-loss", "infobatch", "freeze",
                             "progressive+stored-loss"},
                            {"partial", "selective"})) {
    const auto other = trained(small::config(name));
    EXPECT_FALSE(at::equal(bp.at("fc.weight"), other.at("fc.weight"))) << name;
  }
}

}  // namespace
}  // namespace adagp::train
