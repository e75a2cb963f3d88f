// A run of a duplex network: what moves, and what is counted.

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/method/costs.h"
#include "adagp/engine/train/trainer.h"
#include "small.h"
#include "unit/temp_folder.h"
#include "unit/with_rivals.h"

namespace adagp::train {
namespace {

config::RunConfig duplex_config(const std::string& method) {
  config::RunConfig c = small::config(method);
  c.model.name = "duplex";
  c.model.duplex = {"resnet8", 3, 16, 4};
  c.optim.decay = 0.1;  // it would move frozen weights, too
  return c;
}

TEST(DuplexRun, OnlyTheBranchMoves) {
  for (const std::string& method :
       testing::with_rivals({"bp", "adagp", "ema"}, {"dropback", "xgrad", "selective"})) {
    SCOPED_TRACE(method);
    const config::RunConfig c = duplex_config(method);
    const auto start = small::copy_of(*task::build_net(c, *small::task()));
    const testing::TempFolder folder;
    train(c, small::task(), folder / "run");
    const auto end = io::load_tensors(folder / "run" / "weights.safetensors").tensors;
    ASSERT_EQ(start.size(), end.size());
    for (const auto& [name, value] : start) {
      EXPECT_EQ(at::equal(value, end.at(name)), name.starts_with("backbone.")) << name;
    }
  }
}

TEST(DuplexRun, TheKeyOfReversingReachesTheNetwork) {
  for (const char* name : {"duplex", "revnet18s"}) {
    for (const bool reversible : {true, false}) {
      config::RunConfig c = duplex_config("bp");
      c.model.name = name;
      c.model.reversible = reversible;
      const auto net = task::build_net(c, *small::task());
      bool twice = false;
      for (const auto& block : dynamic_cast<models::BlockNet&>(*net).blocks()) {
        twice = twice || block.runs_twice;
      }
      EXPECT_EQ(twice, reversible) << name;
    }
  }
}

TEST(DuplexRun, Learns) {
  config::RunConfig c = duplex_config("bp");
  c.optim.decay = 0;
  c.optim.lr = 0.1;
  c.epochs = 30;
  const testing::TempFolder folder;
  train(c, small::task(), folder / "run");
  EXPECT_LT(small::train_losses(folder / "run").back(), small::kLossOfConstantAnswers);
}

// Rows of the backbone run forward alone; those of the branch once more before they go backward.
TEST(DuplexRun, CostsNothingBackwardInTheBackbone) {
  const config::RunConfig c = duplex_config("bp");
  step::Session s = small::session(c);
  const method::Costs costs(*s.net, *s.task, c);
  const auto table = layers::from_model(*s.net, c.model.name, "16x16");
  double forward = 0, backward = 0;
  bool first = true;
  for (const auto& row : table.rows) {
    const auto macs = static_cast<double>(row.macs);
    forward += macs;
    EXPECT_EQ(row.frozen != 0, row.name.starts_with("backbone.")) << row.name;
    if (row.frozen != 0) continue;
    backward += first ? macs : 2 * macs;  // nothing asks for the gradient of what the stem is fed
    if (row.name.starts_with("branch.")) backward += macs;
    first = false;
  }
  EXPECT_FALSE(first);
  EXPECT_EQ(costs.forward(), forward);
  EXPECT_EQ(costs.backward(), backward);
  EXPECT_LT(costs.backward(), forward);  // most of the network is the backbone
}

}  // namespace
}  // namespace adagp::train
