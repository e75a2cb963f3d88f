#include "adagp/papers/study/table1.h"

#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"

namespace adagp::study {
namespace {

std::vector<report::RunRecord> records(const std::vector<std::vector<double>>& scores) {
  const char* methods[] = {"bp", "adagp", "skip"};
  const double seconds[] = {30, 20, 15};
  std::vector<report::RunRecord> out;
  for (size_t m = 0; m < scores.size(); ++m) {
    for (size_t seed = 0; seed < scores[m].size(); ++seed) {
      out.push_back(
          {methods[m], static_cast<int64_t>(seed), scores[m][seed], seconds[m], 1, 1, {}});
    }
  }
  return out;
}

// Column sums, added up apart from this table.
TEST(Table1, PublishedFiguresAddUp) {
  std::array<double, 3> sum_bp{}, sum_adagp{};
  for (const auto& network : kTable1) {
    for (size_t data = 0; data < 3; ++data) {
      sum_bp[data] += network[data].bp;
      sum_adagp[data] += network[data].adagp;
    }
  }
  const std::array<double, 3> bp{1200.09, 951.31, 966.47}, adagp{1210.57, 960.97, 962.48};
  for (size_t data = 0; data < 3; ++data) {
    EXPECT_NEAR(sum_bp[data], bp[data], 1e-6);
    EXPECT_NEAR(sum_adagp[data], adagp[data], 1e-6);
  }
}

TEST(Table1, DifferencesAndMeansByHand) {
  const Table1 table = make_table1({{"vgg13_bn", records({{90, 91}, {91, 93}, {90.5, 92.5}}), {}},
                                    {"mobilenet_v2", records({{88, 88}, {87, 87}}), {}},
                                    {"resnet50", {}, {}}},
                                   0);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0].name, "VGG13");
  ASSERT_TRUE(table.rows[1].published);
  EXPECT_DOUBLE_EQ(table.rows[1].published->adagp, 91.34);
  const Table1Means mean = means(table);
  EXPECT_NEAR(mean.published, (1.03 + 1.26 + 0.79) / 3, 1e-9);
  EXPECT_NEAR(mean.ours, (1.5 - 1) / 2, 1e-9);
  EXPECT_NEAR(mean.over_skip, 0.5, 1e-9);  // mobilenet_v2 has no skip yet
  EXPECT_EQ(mean.networks, 2);
  const auto json = nlohmann::json::parse(table1_json(table));
  EXPECT_DOUBLE_EQ(json["networks"][0]["methods"]["adagp"]["speedup"], 1.5);
  EXPECT_TRUE(json["networks"][2]["adagp_minus_bp"].is_null());
  EXPECT_NE(table1_text(table, true).find("| +1.50 [-4.85, +7.85] |"), std::string::npos)
      << table1_text(table, true);
}

TEST(Table1, ExplanationFollowsTheControlAndNeedsThreeSeeds) {
  const auto explain = [](const std::vector<std::vector<double>>& scores) {
    return explanation(make_table1({{"vgg13_bn", records(scores), {}}}, 0).rows[0]);
  };
  EXPECT_EQ(explain({}), "no run of skip with the seed of adagp");
  EXPECT_NE(explain({{90}, {91}, {80}}).find("n = 1"), std::string::npos);
  EXPECT_NE(explain({{90, 90, 90}, {91, 92, 93}, {92, 91, 93.5}}).find("does as well"),
            std::string::npos);
  EXPECT_NE(explain({{90, 90, 90}, {91, 92, 93}, {90, 91.1, 91.9}}).find("above skip"),
            std::string::npos);
  EXPECT_NE(explain({{90, 90, 90}, {91, 92, 93}, {92, 93.1, 93.9}}).find("below skip"),
            std::string::npos);
}

TEST(Table1, NetworksAreKnownByThePapersNamesAndOurs) {
  EXPECT_EQ(paper_networks("").size(), 13U);
  EXPECT_EQ(paper_networks("VGG13,resnet50,MobileNet-V2,inception_v3"),
            (std::vector<std::string>{"vgg13_bn", "resnet50", "mobilenet_v2", "inception_v3"}));
  EXPECT_THROW(paper_networks("vgg14"), UsageError);
  EXPECT_THROW(paper_networks("vgg13,vgg13_bn"), UsageError);
}

TEST(Table1, OtherDataHaveNoPublishedFigures) {
  EXPECT_EQ(published_column("packed", 10), 0U);
  EXPECT_EQ(published_column("cifar100", 100), 1U);
  EXPECT_EQ(published_column("image-folder", 1000), 2U);
  EXPECT_FALSE(published_column("packed", 20));
  EXPECT_FALSE(published_column("synthetic", 10));
  const Table1 table = make_table1({{"vgg13_bn", records({{50}, {50}, {50}}), {}}}, std::nullopt);
  EXPECT_FALSE(table.rows[0].published);
  EXPECT_NE(table1_text(table, false).find("no published figures"), std::string::npos);
}

}  // namespace
}  // namespace adagp::study
