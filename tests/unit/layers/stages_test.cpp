#include "adagp/engine/layers/stages.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"

namespace adagp::layers {
namespace {

std::set<std::string> all_names(const models::Net& net) {
  std::set<std::string> names;
  for (const auto& item : net.named_parameters()) names.insert(item.key());
  for (const auto& item : net.named_buffers()) names.insert(item.key());
  return names;
}

models::Options small() {
  models::Options options;
  options.form = models::Form::kCifar;
  options.classes = 10;
  options.width_divisor = 8;
  return options;
}

TEST(Stages, EveryNameHasOneStageAndEveryStageHasWeights) {
  for (const char* name : {"vgg13_bn", "resnet18", "densenet121", "mobilenet_v2", "resnet8"}) {
    const auto net = models::build(name, small());
    for (const int count : {2, 3, 4}) {
      const Stages stages = cut(*net, name, "32x32", count);
      std::set<std::string> seen;
      size_t sum = 0;
      for (const auto& names : stages.names) {
        EXPECT_FALSE(names.empty()) << name;
        seen.insert(names.begin(), names.end());
        sum += names.size();
      }
      EXPECT_EQ(seen, all_names(*net)) << name;
      EXPECT_EQ(sum, seen.size()) << name << ": a name in two stages";
      for (const double macs : stages.macs) EXPECT_GT(macs, 0) << name;
      EXPECT_EQ(stages.first.front(), 0U);
      EXPECT_TRUE(std::is_sorted(stages.first.begin(), stages.first.end()));
    }
  }
}

TEST(Stages, MacsAreThoseOfTheWholeNetwork) {
  const auto net = models::build("resnet18", {});
  auto& blocks = dynamic_cast<models::BlockNet&>(*net);
  double macs = 0;
  for (const auto& use : trace_blocks(blocks, "resnet18", "imagenet")) macs += use.macs;
  EXPECT_NEAR(macs, 1.814e9, 0.001e9);  // as published for torchvision's weights
}

TEST(Stages, ATiedWeightIsInBothStagesThatUseIt) {
  models::Options options;
  auto& sizes = options.transformer;
  sizes.source_words = sizes.target_words = 12;
  sizes.width = sizes.hidden = 8;
  sizes.heads = 2;
  sizes.encoder_layers = sizes.decoder_layers = 2;
  for (const bool tied : {false, true}) {
    sizes.tied = tied;
    const auto net = models::build("transformer", options);
    const Stages stages = cut(*net, "transformer", "tokens:5,5", 4);
    std::vector<size_t> having;
    for (size_t s = 0; s < stages.count(); ++s) {
      if (stages.names[s].contains("tgt_embedding.weight")) having.push_back(s);
    }
    ASSERT_EQ(having.size(), tied ? 2U : 1U);
    EXPECT_LT(having.front(), 3U);  // where the decoder begins
    EXPECT_EQ(having.back() == 3U, tied);
  }
}

TEST(Stages, OneStageIsTheNetwork) {
  const auto net = models::build("resnet8", small());
  EXPECT_EQ(cut(*net, "resnet8", "32x32", 1).names.at(0), all_names(*net));
}

TEST(Stages, TheMostStagesCanBeMadeAndNoMore) {
  for (const char* name : {"vgg13_bn", "resnet8", "mobilenet_v2"}) {
    const auto net = models::build(name, small());
    auto& blocks = dynamic_cast<models::BlockNet&>(*net);
    const int most = most_stages(trace_blocks(blocks, name, "32x32"));
    EXPECT_GT(most, 2) << name;
    EXPECT_EQ(cut(*net, name, "32x32", most).count(), static_cast<size_t>(most)) << name;
    EXPECT_THROW(cut(*net, name, "32x32", most + 1), UsageError) << name;
  }
}

TEST(Stages, TooManyAreRefusedWithTheNumbers) {
  const auto net = models::build("resnet8", small());
  try {
    cut(*net, "resnet8", "32x32", 40);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("40"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace adagp::layers
