#include "adagp/study/study.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/core/error.h"
#include "adagp/study/details.h"
#include "adagp/study/output.h"
#include "adagp/study/paper.h"
#include "adagp/study/ranges.h"

namespace adagp::study {
namespace {

using Numbers = std::vector<int64_t>;

TEST(Ranges, NumbersAndSteps) {
  EXPECT_EQ(parse_numbers("16", "--batch", 99), (Numbers{16}));
  EXPECT_EQ(parse_numbers("1..4", "--batch", 99), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(parse_numbers("8..30:8, 5", "--batch", 99), (Numbers{8, 16, 24, 5}));
  EXPECT_EQ(parse_numbers("8..64*2", "--batch", 99), (Numbers{8, 16, 32, 64}));
  EXPECT_EQ(parse_numbers("3,3,1..3", "--batch", 99), (Numbers{3, 1, 2}));
}

TEST(Ranges, ArraysArePairs) {
  using Arrays = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(parse_arrays("12x15", "--array"), (Arrays{{12, 15}}));
  EXPECT_EQ(parse_arrays("16", "--array"), (Arrays{{16, 16}}));
  EXPECT_EQ(parse_arrays("1..2x4..8*2,3", "--array"),
            (Arrays{{1, 4}, {1, 8}, {2, 4}, {2, 8}, {3, 3}}));
}

TEST(Ranges, WhatIsNoRangeIsRefused) {
  for (const char* text : {"", "x", "0", "100", "4..1", "1..9*1", "1..9:0", "1..", "..3", "1,,2",
                           "1..99999999999999999999", "-1", "1.5"}) {
    EXPECT_THROW(parse_numbers(text, "--batch", 99), UsageError) << text;
  }
  for (const char* text : {"12x", "x15", "12x15x3", "0x4", "70000x2", "1..65536x1..65536"}) {
    EXPECT_THROW(parse_arrays(text, "--array"), UsageError) << text;
  }
  EXPECT_THROW(parse_names("a,b,a", "--model"), UsageError);
  EXPECT_THROW(parse_names(" , ", "--model"), UsageError);
}

Options two_by_two() {
  Options options;
  options.models = "resnet8";
  options.inputs = "cifar";
  options.arrays = "4x4,8x8";
  options.dataflows = "ws,os";
  options.designs = "baseline,max";
  options.epochs = 9;
  return options;
}

TEST(Study, IsEveryCombination) {
  Study study = make_study(two_by_two());
  EXPECT_EQ(study.plans.size(), 1u);  // a plan does not depend on the accelerator
  ASSERT_EQ(study.cases.size(), 4u);
  EXPECT_EQ(labels(study), (std::vector<std::string>{"4x4 ws", "4x4 os", "8x8 ws", "8x8 os"}));
  run(study, 2);
  EXPECT_EQ(all_rows(study).size(), 8u);
}

TEST(Study, ThreadsDoNotChangeTheNumbers) {
  Study one = make_study(two_by_two()), many = make_study(two_by_two());
  run(one, 1);
  run(many, 4);
  std::string first, second;
  write_csv(one, all_rows(one), [&](const std::string& text) { first += text; });
  write_csv(many, all_rows(many), [&](const std::string& text) { second += text; });
  EXPECT_EQ(first, second);
}

TEST(Study, JsonOfASweepIsAnArrayOfRuns) {
  Study study = make_study(two_by_two());
  run(study, 0);
  std::string text;
  write_json(study, all_rows(study), [&](const std::string& part) { text += part; });
  const auto runs = nlohmann::json::parse(text);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[3]["array"], "8x8");
  EXPECT_EQ(runs[3]["dataflow"], "os");
  EXPECT_EQ(runs[3]["designs"]["baseline"]["speedup"], 1.0);
  EXPECT_GT(runs[3]["designs"]["max"]["speedup"], 1.0);
}

TEST(Study, PerLayerCyclesAddUpToTheTotal) {
  Options options = two_by_two();
  options.arrays = "4x4";
  options.dataflows = "ws";
  for (const bool inference : {true, false}) {
    options.inference = inference;
    const Study study = make_study(options);
    const auto out = to_json(study, 0, detail(study, 0), true);
    int64_t cycles = 0, words = 0;
    for (const auto& layer : out["layers"]) {
      cycles += layer["cycles"].get<int64_t>();
      words += layer["dram_read_words"].get<int64_t>();
    }
    EXPECT_EQ(out["total"]["cycles"], cycles);
    EXPECT_EQ(out["total"]["dram_read_words"], words);
    EXPECT_EQ(out.contains("designs"), !inference);
  }
}

TEST(Study, LayerChartShowsTheWholeRun) {
  Options options = two_by_two();
  options.arrays = "4x4";
  options.dataflows = "ws";
  options.designs = "efficient";
  options.products_only = true;
  const Study study = make_study(options);
  const Details details = detail(study, 0);
  const auto chart = layer_chart(study, 0, details);
  ASSERT_EQ(chart.series.size(), 4u);  // baseline; warm-up, BP and GP of the design
  const auto sum = [&](size_t first, size_t last) {
    double total = 0;
    for (size_t s = first; s < last; ++s) {
      for (const double value : chart.series[s].values) total += value;
    }
    return total;
  };
  // Products alone: every cycle of the run belongs to a layer that is drawn.
  EXPECT_DOUBLE_EQ(sum(0, 1), static_cast<double>(details.training.baseline.cycles.total()));
  EXPECT_DOUBLE_EQ(sum(1, 4), static_cast<double>(details.training.designs[0].cycles.total()));
}

TEST(Study, SettingsOutOfRangeAreUsageErrors) {
  for (const auto& edit : std::vector<std::function<void(Options&)>>{
           [](Options& o) { o.epochs = 0; }, [](Options& o) { o.examples = 0; },
           [](Options& o) { o.batches = "0"; }, [](Options& o) { o.designs = "none"; },
           [](Options& o) { o.table = "also.csv"; }, [](Options& o) { o.models = ""; },
           [](Options& o) { o.settings = {"array.rows=0"}; },
           [](Options& o) {
             o.arrays = "1..3000";
             o.batches = "1..3000";
           }}) {
    Options options = two_by_two();
    edit(options);
    EXPECT_THROW(make_study(options), UsageError);
  }
}

TEST(Paper, RatiosAreOursOverPublished) {
  Comparison one{"Fig. 1", "x", 2.0, 3.0, ""};
  EXPECT_DOUBLE_EQ(*one.ratio(), 1.5);
  one.published.reset();
  EXPECT_FALSE(one.ratio());
}

}  // namespace
}  // namespace adagp::study
