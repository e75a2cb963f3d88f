// A process of a pipeline holds the values of its own stage and of no other.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adagp/engine/nn/values_elsewhere.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/step/team.h"
#include "unit/train/small.h"

namespace adagp::step {
namespace {

// The member of a pipeline that has the head.
class HeadTeam : public SoloTeam {
 public:
  bool solo() const override { return false; }
  bool splits_layers() const override { return true; }
  bool owns(const std::string& name) const override { return name.starts_with("fc."); }
};

size_t bytes(const at::Tensor& tensor) {
  return tensor.storage().nbytes();
}

TEST(OwnStage, ParametersOfOthersKeepTheirShapesAndNothingElse) {
  const config::RunConfig config = small::config("bp");
  const auto whole = task::build_net(config, *small::task());
  const Session s = make_session(config, small::task(), task::build_net(config, *small::task()),
                                 std::make_shared<HeadTeam>());
  for (const auto& item : s.net->named_parameters()) {
    const at::Tensor& there = whole->named_parameters()[item.key()];
    EXPECT_EQ(item.value().sizes(), there.sizes()) << item.key();
    if (item.key().starts_with("fc.")) {
      EXPECT_TRUE(item.value().equal(there)) << item.key();
    } else {
      EXPECT_EQ(bytes(item.value()), sizeof(float)) << item.key();
      EXPECT_TRUE(item.value().isnan().all().item<bool>()) << item.key();
    }
  }
  EXPECT_EQ(s.optimizer->params().size(), 2U);
  EXPECT_EQ(s.layers.size(), 1U);
}

TEST(OwnStage, ACheckpointFillsWhatIsHereAndRoomCanBeMadeForTheRest) {
  const config::RunConfig config = small::config("bp");
  const auto other = task::build_net(config, *small::task());
  const at::NoGradGuard no_grad;
  for (at::Tensor& value : other->parameters()) value.fill_(0.5);
  const Session s = make_session(config, small::task(), task::build_net(config, *small::task()),
                                 std::make_shared<HeadTeam>());
  run::load_state_dict(*s.net, run::state_dict(*other), "test");
  for (auto& item : s.net->named_parameters()) {
    const bool own = item.key().starts_with("fc.");
    EXPECT_EQ(nn::has_values(item.value()), own) << item.key();
    if (!own) nn::make_room(item.value());
    item.value().fill_(0.5);
    EXPECT_TRUE(item.value().equal(other->named_parameters()[item.key()])) << item.key();
  }
}

}  // namespace
}  // namespace adagp::step
