#include "adagp/papers/study/study.h"

#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/papers/study/details.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/paper.h"
#include "adagp/papers/study/ranges.h"

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
  EXPECT_EQ(parse_arrays("4,1..2x4,4x4,2x4", "--array"), (Arrays{{4, 4}, {1, 4}, {2, 4}}));
}

// Read one by one and compared with each other, a million values would take hours.
TEST(Ranges, AMillionValuesAreReadAtOnce) {
  const Numbers values = parse_numbers("1..1000000", "--batch", 1 << 20);
  EXPECT_EQ(values.size(), 1000000u);
  EXPECT_EQ(values.back(), 1000000);
}

TEST(Ranges, WhatIsNoRangeIsRefused) {
  for (const char* text : {"", "x", "0", "100", "4..1", "1..9*1", "1..9:0", "1..", "..3", "1,,2",
                           "1..99999999999999999999", "-1", "1.5"}) {
    EXPECT_THROW(parse_numbers(text, "--batch", 99), UsageError) << text;
  }
  for (const char* text : {"12x", "x15", "12x15x3", "0x4", "70000x2", "1..65536x1..65536"}) {
    EXPECT_THROW(parse_arrays(text, "--array"), UsageError) << text;
  }
  for (const char* text : {"1..1000001", "1..600000,1..600000", "1..9999999999:3"}) {
    EXPECT_THROW(parse_numbers(text, "--batch", int64_t{1} << 40), UsageError) << text;
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
  // Phases of every design, which add up to it.
  for (const auto& design : runs[3]["designs"]) {
    int64_t cycles = 0, batches = 0;
    double energy = 0;
    for (const auto& phase : design["phases"]) {
      cycles += phase["total_cycles"].get<int64_t>();
      batches += phase["batches"].get<int64_t>();
      energy += phase["energy_j"].get<double>();
    }
    EXPECT_EQ(design["total_cycles"], cycles);
    EXPECT_EQ(batches, 9 * 391);
    EXPECT_NEAR(design["energy_j"].get<double>(), energy, 1e-9 * energy);
  }
}

TEST(Study, PredictorChannelsReachBothKinds) {
  Options options = two_by_two();
  options.predictor_channels = "3,5";
  for (const char* kind : {"shared", "remap"}) {
    options.predictor_kind = kind;
    Study study = make_study(options);
    ASSERT_EQ(study.cases.size(), 8u);
    run(study, 0);
    EXPECT_EQ(describe(study, 7)["predictor"]["channels"], 5) << kind;
    EXPECT_EQ(describe(study, 7)["predictor"]["summary"],
              options.predictor_kind == "remap" ? 4 : 8);
    // More channels cost more, and nothing else differs.
    EXPECT_LT(study.results[0].designs[1].energy.total(),
              study.results[4].designs[1].energy.total());
    EXPECT_EQ(study.results[0].designs[0].cycles.total(),
              study.results[4].designs[0].cycles.total());
  }
}

// MACs and cycles of a row's own passes, each counted by the dataflow's formula once more.
TEST(Study, UtilisationIsThatOfTheRowsPasses) {
  Options options = two_by_two();
  options.arrays = "12x15";
  options.dataflows = "ws";
  for (const bool inference : {true, false}) {
    options.inference = inference;
    const Study study = make_study(options);
    const auto out = to_json(study, 0, detail(study, 0), true);
    for (const auto& layer : out["layers"]) {
      if (!layer.contains("m")) continue;
      const double cycles = layer["cycles"].get<double>(), macs = layer["macs"].get<double>();
      EXPECT_NEAR(layer["utilisation"].get<double>(), macs / (cycles * 180), 1e-12);
      // ws streams M in ceil(K/12)*ceil(N/15) folds; gradients are (M, N, K) and (K, M, N).
      const int64_t m = layer["m"], k = layer["k"], n = layer["n"], groups = layer["groups"];
      const auto busy = [&](int64_t stream, int64_t rows, int64_t columns) {
        return static_cast<double>(groups * stream * ((rows + 11) / 12) * ((columns + 14) / 15));
      };
      double working = busy(m, k, n);
      if (!inference) {
        working += busy(k, m, n);
        if (layer["input_gradient_cycles"].get<int64_t>() > 0) working += busy(m, n, k);
      }
      EXPECT_NEAR(layer["active_pes"].get<double>(), macs / working, 1e-9);
    }
  }
}

// A front is a network's own: the smaller one would beat every point of the larger.
TEST(Study, EachNetworkHasItsFront) {
  Options options = two_by_two();
  options.models = "resnet8,vgg13_bn";
  Study both = make_study(options);
  run(both, 0);
  const auto fronts = pareto_fronts(both, "pes,energy");
  ASSERT_EQ(fronts.size(), 2u);
  EXPECT_EQ(fronts[0].network, "resnet8 cifar");
  EXPECT_EQ(fronts[1].network, "vgg13_bn cifar");
  for (const Front& front : fronts) {
    Options alone = two_by_two();
    alone.models = front.network.substr(0, front.network.find(' '));
    Study study = make_study(alone);
    run(study, 0);
    EXPECT_EQ(pareto_fronts(study, "pes,energy").at(0).values, front.values) << front.network;
  }
  const auto chart = front_chart(both, fronts, "pes,energy");
  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[1].points, fronts[1].values);
  EXPECT_EQ(chart.x_title, "PEs");
  EXPECT_EQ(chart.y_title, "energy (J)");
  EXPECT_NE(report::svg(chart).find("vgg13_bn cifar"), std::string::npos);
}

// Batches of a forward pass are different work; those of a training run are a choice.
TEST(Study, AForwardPassHasAFrontForEachBatch) {
  Options options = two_by_two();
  options.batches = "1,8";
  Study training = make_study(options);
  run(training, 0);
  EXPECT_EQ(pareto_fronts(training, "cycles,pes").size(), 1u);
  options.inference = true;
  Study inference = make_study(options);
  run(inference, 0);
  const auto fronts = pareto_fronts(inference, "cycles,pes");
  ASSERT_EQ(fronts.size(), 2u);
  EXPECT_EQ(fronts[1].network, "resnet8 cifar, batch 8");
  report::svg(front_chart(inference, fronts, "cycles,pes"));
}

TEST(Study, ASweepOfArraysSweepsTheSecondArrayToo) {
  Options options = two_by_two();
  options.arrays = "12x15,48x60";
  options.dataflows = "ws";
  options.designs = "max";
  const auto pes = [](const Options& given) {
    Study study = make_study(given);
    run(study, 0);
    std::vector<double> out;
    const auto fronts = pareto_fronts(study, "pes,cycles");
    for (const auto& value : fronts.at(0).values) out.push_back(value.first);
    return out;
  };
  EXPECT_EQ(pes(options), (std::vector<double>{180 + 80, 2880 + 1280}));
  options.settings = {"predictor.rows=8", "predictor.columns=10"};
  EXPECT_EQ(pes(options), (std::vector<double>{180 + 80, 2880 + 80}));
}

TEST(Study, ATableOfAFrontShowsWhatTellsThePointsApart) {
  Study study = make_study(two_by_two());
  run(study, 0);
  const auto rows = rows_of(pareto_fronts(study, "pes,energy"));
  for (const auto& shown : {std::vector<Row>{rows[0]}, rows}) {
    const std::string text = console(study, shown);
    for (const char* title : {"array", "dataflow", "design", "PEs", "total cycles", "energy (J)"}) {
      EXPECT_NE(text.find(title), std::string::npos) << title << "\n" << text;
    }
  }
  EXPECT_EQ(common_places(study),
            "model resnet8, input cifar, batch 128, accelerator adagp-180, predictor 16/4/8");
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
           },
           [](Options& o) { o.epochs = std::numeric_limits<int64_t>::max(); },
           [](Options& o) { o.batches = "1..1000000"; },  // a plan each
           [](Options& o) { o.predictor_summary = "1..1000,1001..4000"; },
           [](Options& o) {
             o.predictor_kind = "remap";
             o.predictor_pooled = "4";
           },
           [](Options& o) {
             o.predictor_kind = "remap";
             o.predictor_summary = "4";
           }}) {
    Options options = two_by_two();
    edit(options);
    EXPECT_THROW(make_study(options), UsageError);
  }
}

// A text alone explains nothing: what has no kind of reason does not count.
TEST(Paper, OnlyAReasonExplainsAMissingNumber) {
  PaperResult result;
  result.comparisons = {{"Fig. 1", "ours", 2.0, 3.0},
                        {"Fig. 1", "no data", 2.0, {}, {Reason::kNoData, "no copy"}},
                        {"Fig. 1", "a text", 2.0, {}, {Reason::kNone, std::string(80, 'x')}},
                        {"Fig. 1", "twice", 2.0, {}, {Reason::kNoData, "no copy"}, true}};
  const PaperCount found = count(result);
  EXPECT_EQ(found.published, 3u);
  EXPECT_EQ(found.with_ours, 1u);
  EXPECT_EQ(found.explained, 1u);
}

TEST(Paper, RatiosAreOursOverPublished) {
  Comparison one{"Fig. 1", "x", 2.0, 3.0};
  EXPECT_DOUBLE_EQ(*one.ratio(), 1.5);
  one.published.reset();
  EXPECT_FALSE(one.ratio());
}

}  // namespace
}  // namespace adagp::study
