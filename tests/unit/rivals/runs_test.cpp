// Options of rivals that take everything away are plain backprop, bit for bit; and what their runs
// cost.

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/layers/stages.h"
#include "adagp/engine/train/trainer.h"
#include "adagp/engine/train/unused_keys.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"
#include "unit/train/trained.h"
#include "unit/with_rivals.h"

namespace adagp::train {
namespace {

TEST(RivalRuns, OneModuleIsBpAndTwoAreNot) {
  const auto bp = trained(small::config("bp"));
  for (const std::string signal : {"auxiliary", "delayed", "replay", "critic"}) {
    for (const bool unlocked : {false, true}) {
      config::RunConfig c = small::config("modules");
      auto& modules = c.parts.get<rivals::ModulesOptions>();
      modules = {.count = 1, .signal = signal, .unlocked = unlocked, .shrink = 0.5};
      expect_equal(trained(c), bp, signal + " with one module: ");
      modules.count = 2;
      EXPECT_FALSE(at::equal(trained(c).at("conv1.weight"), bp.at("conv1.weight"))) << signal;
    }
  }
}

TEST(RivalRuns, OneModuleWithASynthesiserOrFeedbackIsBpAndTwoAreNot) {
  config::RunConfig base = small::config("bp");
  base.model.width_divisor = 4;  // of the synthesisers, too
  const auto bp = trained(base);
  for (const std::string signal : {"synthetic", "feedback"}) {
    config::RunConfig c = base;
    c.method = "modules";
    auto& modules = c.parts.get<rivals::ModulesOptions>();
    modules = {.count = 1, .signal = signal};
    expect_equal(trained(c), bp, signal + " with one module: ");
    modules.count = 2;
    EXPECT_FALSE(at::equal(trained(c).at("conv1.weight"), bp.at("conv1.weight"))) << signal;
  }
}

TEST(RivalRuns, NoiseOfNothingIsBp) {
  const auto bp = trained(small::config("bp"));
  config::RunConfig c = small::config("noise");
  EXPECT_FALSE(at::equal(trained(c).at("fc.weight"), bp.at("fc.weight")));
  c.parts.get<rivals::NoiseOptions>().eta = 0;
  expect_equal(trained(c), bp, "noise of nothing: ");
}

TEST(RivalRuns, PartialOfNothingIsBp) {
  config::RunConfig c = small::config("partial");
  c.parts.get<rivals::PartialOptions>().blocks = 0;
  expect_equal(trained(c), trained(small::config("bp")), "partial of nothing: ");
}

TEST(RivalRuns, XgradThatLooksAheadByNothingIsBp) {
  const auto bp = trained(small::config("bp"));
  config::RunConfig c = small::config("xgrad");
  EXPECT_FALSE(at::equal(trained(c).at("fc.weight"), bp.at("fc.weight")));
  c.parts.get<rivals::XGradOptions>().factor = 0;
  expect_equal(trained(c), bp, "xgrad with factor 0: ");
}

TEST(RivalRuns, DropBackThatKeepsAllIsBp) {
  const auto bp = trained(small::config("bp"));
  for (const std::string threshold : {"exact", "estimate"}) {
    config::RunConfig c = small::config("dropback");
    c.parts.get<rivals::DropBackOptions>().threshold = threshold;
    EXPECT_FALSE(at::equal(trained(c).at("fc.weight"), bp.at("fc.weight")));
    c.parts.get<rivals::DropBackOptions>().keep = 1;
    expect_equal(trained(c), bp, "dropback of nothing, " + threshold + ": ");
  }
}

TEST(RivalRuns, ModulesCostTheirParts) {
  const testing::TempFolder folder;
  const config::RunConfig base = small::config("bp");
  const step::Session s = small::session(base);
  const auto whole = layers::from_model(*s.net, base.model.name, "16x16");
  const auto backprop = [&](const layers::Table& table) {
    return 3 * static_cast<double>(layers::total_macs(table)) -
           static_cast<double>(table.rows.front().macs);
  };
  const auto modules = [&](const std::string& signal) {
    std::filesystem::remove_all(folder / "modules");
    config::RunConfig c = small::config("modules");
    c.schedule = "gp";
    c.parts.get<rivals::ModulesOptions>().signal = signal;
    return *train(c, small::task(), folder / "modules").cost_epochs;
  };
  auto& net = dynamic_cast<models::BlockNet&>(*s.net);
  const auto cut = layers::cut(net, base.model.name, "16x16", 2);
  const auto uses = layers::trace_blocks(net, base.model.name, "16x16");
  // What is delayed costs what backprop costs; a replay runs forward once more through all modules
  // but the last.
  EXPECT_NEAR(modules("delayed"), 3, 1e-9);
  EXPECT_NEAR(modules("replay"), 3 + 3 * cut.macs[0] / backprop(whole), 1e-9);
  // An auxiliary loss saves the gradient at the cut and pays for its head: three convolutions on a
  // quarter of the side, three layers of four times the channels, the classes.
  double at_cut = 0;
  for (const auto& row : whole.rows) {
    if (at_cut == 0 && row.name.starts_with(uses[cut.first[1]].name)) {
      at_cut = static_cast<double>(row.macs);
    }
  }
  const auto behind = uses[cut.first[1] - 1].outputs.at(0);
  const auto channels = static_cast<double>(behind.size(1));
  const double pixels = std::ceil(static_cast<double>(behind.size(2)) / 4) *
                        std::ceil(static_cast<double>(behind.size(3)) / 4);
  const double own_head =
      3 * channels * channels * pixels + 3 * 16 * channels * channels + 10 * 4 * channels;
  EXPECT_NEAR(modules("auxiliary"), 3 + 3 * (3 * own_head - at_cut) / backprop(whole), 1e-9);
  // Feedback saves the same gradient and pays for e B, a row of B for each class.
  const double own_product = 10 * channels * static_cast<double>(behind.size(2) * behind.size(3));
  EXPECT_NEAR(modules("feedback"), 3 + 3 * (own_product - at_cut) / backprop(whole), 1e-9);
  // A synthesiser needs the gradient at the cut. It has three 5x5 convolutions, here with half of
  // the published 128 filters, and the first of them sees ten channels more.
  const double first = (channels + 10) * 64, others = 64 * 64 + 64 * channels;
  const double own_synthesiser =
      25 * static_cast<double>(behind.size(2) * behind.size(3)) * (2 * first + 3 * others);
  EXPECT_NEAR(modules("synthetic"), 3 + 3 * own_synthesiser / backprop(whole), 1e-9);
}

TEST(RivalRuns, PartsOfABatchAndOfTheNetworkCostTheirShare) {
  const testing::TempFolder folder;
  const config::RunConfig base = small::config("bp");
  const step::Session s = small::session(base);
  const auto whole = layers::from_model(*s.net, base.model.name, "16x16");
  const auto forward = static_cast<double>(layers::total_macs(whole));
  const double backprop = 3 * forward - static_cast<double>(whole.rows.front().macs);
  // Three epochs in which every batch is a cheap one.
  const auto cost = [&](config::RunConfig c) {
    c.schedule = "gp";
    return *train(c, small::task(), folder / c.method).cost_epochs;
  };
  config::RunConfig some = small::config("selective");
  some.parts.get<rivals::SelectiveOptions>().share = 0.4;
  EXPECT_NEAR(cost(some), 3 * (forward + 0.4 * backprop) / backprop, 1e-9);
  const auto blocks =
      static_cast<int64_t>(dynamic_cast<const models::BlockNet&>(*s.net).blocks().size());
  config::RunConfig last = small::config("partial");
  last.parts.get<rivals::PartialOptions>().blocks = blocks - 1;
  const auto head = static_cast<double>(whole.rows.back().macs);
  EXPECT_NEAR(cost(last), 3 * (forward + head) / backprop, 1e-9);
  last.parts.get<rivals::PartialOptions>().blocks = 50;
  try {
    train(last, small::task(), folder / "too-many");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("expected 0 to"), std::string::npos);
  }
}

TEST(RivalRuns, ModulesRefuseFrozenBlocks) {
  const testing::TempFolder folder;
  config::RunConfig c = small::config("modules");
  c.model.name = "duplex";
  c.model.duplex = {"resnet8", 3, 16, 4};
  try {
    train(c, small::task(), folder / "run");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("frozen blocks"), std::string::npos);
  }
}

// Bit errors reach whatever keeps its input: frozen layers, and the projections of attention.
TEST(RivalRuns, EveryLayerHasTheRuleOfEdram) {
  for (const std::string network : {"duplex", "resnet8"}) {
    config::RunConfig c = small::config("bp");
    c.model.name = network;
    c.model.duplex = {"resnet8", 3, 16, 4};
    c.parts.get<rivals::EdramOptions>().error = 0.01;
    const step::Session s = small::session(c);
    const auto layers = nn::collect(*s.net);
    EXPECT_EQ(layers.size() > s.layers.size(), network == "duplex");
    for (const auto* layer : layers) {
      ASSERT_NE(layer->rule, nullptr) << layer->path();
      EXPECT_FALSE(layer->has_rule()) << "nothing is kept outside a step";
    }
    ASSERT_NE(s.kept_values(), nullptr);
    const nn::KeptValuesScope scope(s.kept_values());
    EXPECT_TRUE(layers.front()->has_rule());
  }
}

// The plateau watches the training loss and cuts both rates: from then on remap stands still.
TEST(RivalRuns, ThePlateauCutsTheRateOfRemap) {
  const auto weights = [](int64_t epochs) {
    config::RunConfig c = small::config("adagp");
    c.epochs = epochs;
    c.schedule = "1ep bp, 2:1";
    c.policy.name = "plateau";
    c.policy.watch = "train";
    c.policy.patience = 0;
    c.policy.threshold = 1;  // no loss is good enough
    c.policy.factor = 1e-30;
    c.predictor.kind = "remap";
    c.predictor.remap_channels = 4;
    c.predictor.remap_outputs = 50;
    Trainer t(c, small::task(), task::build_net(c, *small::task()));
    t.run(nullptr);
    std::map<std::string, at::Tensor> found = t.session().predictor->state();
    std::erase_if(found, [](const auto& item) { return !item.first.starts_with("param."); });
    for (auto& [name, tensor] : found) tensor = tensor.clone();
    return found;
  };
  const auto after_one = weights(1), after_three = weights(3);
  ASSERT_FALSE(after_one.empty());
  for (const auto& [name, tensor] : after_one) {
    EXPECT_TRUE(at::equal(tensor, after_three.at(name))) << name;
  }
}

TEST(RivalRuns, AutoRefusesToHoldOutEverything) {
  const testing::TempFolder folder;
  config::RunConfig c = small::config("auto");
  c.parts.get<rivals::AutoOptions>().heldout = 60;
  try {
    train(c, small::task(), folder / "run");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("expected 1 to 59"), std::string::npos);
  }
}

TEST(RivalRuns, AutoHasHeldOutExamplesOfItsOwn) {
  const testing::TempFolder folder;
  config::RunConfig c = small::config("auto");
  c.parts.get<rivals::AutoOptions>().heldout = 20;
  c.policy.name = "plateau";
  c.policy.watch = "held-out";
  try {
    train(c, small::task(), folder / "run");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("policy.watch = held-out: method auto"),
              std::string::npos)
        << error.what();
  }
}

TEST(RivalRuns, KeysOfAutoAndOfPredictorsAreReadByThem) {
  config::RunConfig deciding;
  deciding.method = "auto";
  EXPECT_EQ(why_unused(deciding, "predictor.lr"), "");
  EXPECT_EQ(why_unused(deciding, "schedule"), "method auto");
  deciding.parts.get<rivals::AutoOptions>().steps = {"skip"};
  EXPECT_EQ(why_unused(deciding, "predictor.lr"), "method auto");
  config::RunConfig config;
  EXPECT_EQ(why_unused(config, "predictor.remap_channels"), "predictor.kind shared");
  config.predictor.kind = "mlp";
  EXPECT_EQ(why_unused(config, "predictor.steps"), "");
  EXPECT_EQ(why_unused(config, "predictor.order"), "predictor.kind mlp");
  config.predictor.kind = "remap";
  EXPECT_EQ(why_unused(config, "predictor.remap_channels"), "");
  EXPECT_EQ(why_unused(config, "predictor.remap_target"), "");
  for (const char* key : {"predictor.target", "predictor.summary"}) {
    EXPECT_EQ(why_unused(config, key), "predictor.kind remap") << key;
  }
  EXPECT_EQ(why_unused(config, "predictor.lr"), "");
  EXPECT_EQ(why_unused(config, "fast.rule"), "precision fp32");
  config.precision = "fast";
  EXPECT_EQ(why_unused(config, "fast.rule"), "");
  EXPECT_EQ(why_unused_in_evaluation(config, "fast.rule"), "");
}

}  // namespace
}  // namespace adagp::train
