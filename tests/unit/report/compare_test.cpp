#include "adagp/results/report/compare.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"

namespace adagp::report {
namespace {

// One method over seeds 0, 1, ...
void add_runs(std::vector<RunRecord>& out, const std::string& method,
              const std::vector<double>& top1, double seconds = 10) {
  for (size_t i = 0; i < top1.size(); ++i) {
    out.push_back(
        {.method = method, .seed = static_cast<int64_t>(i), .score = top1[i], .seconds = seconds});
  }
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::vector<RunRecord>& two_seeds() {
  static const std::vector<RunRecord> runs{
      {"bp", 0, 90.0, 100, 1000, 0, {}},    {"adagp", 0, 88.0, 80, 500, 500, 0.25},
      {"bp", 1, 91.0, 140, 1000, 0, {}},    {"adagp", 1, 89.5, 70, 500, 501, 0.75},
      {"adagp", 2, 87.5, 30, 500, 500, {}},
  };
  return runs;
}

TEST(Compare, ProcessorSecondsHaveAColumnWhereARunHasThem) {
  auto runs = two_seeds();
  for (const auto& text :
       {to_csv(compare(runs)), to_json(compare(runs)), to_markdown(compare(runs))}) {
    EXPECT_FALSE(says(text, "processor"));
  }
  runs[1].processor_seconds = 40;
  runs[3].processor_seconds = 60;
  const Comparison c = compare(runs);
  EXPECT_TRUE(std::isnan(c.methods[0].processor_seconds_mean));
  EXPECT_DOUBLE_EQ(c.methods[1].processor_seconds_mean, 50) << "the third run tells none";
  EXPECT_TRUE(says(to_markdown(c), "| seconds | processor s |"));
  EXPECT_TRUE(says(to_csv(c), ",test_examples,processor_seconds_mean\n"));
  const auto methods = nlohmann::json::parse(to_json(c)).at("methods");
  EXPECT_TRUE(methods.at("bp").at("processor_seconds_mean").is_null());
  EXPECT_EQ(methods.at("adagp").at("processor_seconds_mean"), 50);
}

TEST(Compare, SecondsOfUnlikeHardwareAreInNoRatio) {
  auto runs = two_seeds();
  for (RunRecord& run : runs) run.hardware = "one";
  const Comparison like = compare(runs);
  EXPECT_DOUBLE_EQ(like.methods[1].speedup, 240.0 / 150);
  EXPECT_FALSE(says(verdict(like), "unlike"));
  runs[3].hardware = "another";  // adagp of seed 1
  const Comparison unlike = compare(runs);
  EXPECT_DOUBLE_EQ(unlike.methods[1].speedup, 100.0 / 80) << "seed 0 alone";
  EXPECT_TRUE(says(verdict(unlike), "unlike devices (another; one)"));
  EXPECT_FALSE(says(verdict(unlike), "The machine was busy")) << "bp's seconds need not be equal";
  runs[1].hardware = "another";
  EXPECT_TRUE(std::isnan(compare(runs).methods[1].speedup));
}

TEST(Compare, ThePictureHasARowForEveryPairThatWasMeasured) {
  const IntervalChart chart = to_chart(compare(two_seeds()));
  ASSERT_EQ(chart.rows.size(), 1u);
  EXPECT_EQ(chart.rows[0].label, "adagp − bp");
  EXPECT_DOUBLE_EQ(chart.rows[0].value, -1.75);  // of -2 and -1.5
  EXPECT_LT(chart.rows[0].low, -2);
  EXPECT_GT(chart.rows[0].high, -1.5);
  EXPECT_THROW(to_svg(compare({two_seeds()[0]})), Error) << "one method";
}

TEST(Compare, RowsByHand) {
  const auto c = compare(two_seeds());
  ASSERT_EQ(c.methods.size(), 2u);
  const auto& bp = c.methods[0];
  EXPECT_EQ(bp.method, "bp");
  EXPECT_DOUBLE_EQ(bp.score_mean, 90.5);
  EXPECT_DOUBLE_EQ(bp.score_sd, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(bp.speedup, 1);
  EXPECT_TRUE(std::isnan(bp.cosine_mean));
  const auto& adagp = c.methods[1];
  EXPECT_EQ(adagp.n, 3);
  EXPECT_NEAR(adagp.score_mean, 265.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(adagp.seconds_mean, 60);
  EXPECT_DOUBLE_EQ(adagp.speedup, (100.0 + 140) / (80 + 70));  // the seeds both have
  EXPECT_EQ(adagp.bp_batches, 500);
  EXPECT_EQ(adagp.gp_batches, 500);
  EXPECT_DOUBLE_EQ(adagp.cosine_mean, 0.5);
  ASSERT_EQ(c.pairs.size(), 1u);
  EXPECT_EQ(c.pairs[0].points.n, 2);
  EXPECT_DOUBLE_EQ(c.pairs[0].points.mean, -1.75);
}

TEST(Compare, ASeedTwiceIsAnError) {
  auto runs = two_seeds();
  runs.push_back(runs[0]);
  EXPECT_THROW(compare(runs), Error);
}

TEST(Compare, JsonHasTheAgreedFieldsAndNullForWhatDoesNotExist) {
  std::vector<RunRecord> runs{{"skip", 0, 88.0, 50, 500, 0, {}}};
  const auto json = nlohmann::json::parse(to_json(compare(runs)));
  const auto expected = nlohmann::json::parse(R"({"skip": {"top1_mean": 88.0, "top1_sd": null,
      "n": 1, "seconds_mean": 50.0, "speedup": null, "bp_batches": 500, "gp_batches": 0,
      "cosine_mean": null}})");
  EXPECT_EQ(json["methods"], expected);
  EXPECT_TRUE(json["verdict"].is_string());
  EXPECT_TRUE(json["methods"]["skip"]["bp_batches"].is_number_integer());
}

TEST(Compare, TablesForPeopleAndMachines) {
  const auto c = compare(two_seeds());
  EXPECT_TRUE(says(to_markdown(c), "| bp | 90.50 ± 0.71 | 2 | 120.0 | 1.00x | 1000 | 0 | - |\n"));
  EXPECT_TRUE(says(to_markdown(c), verdict(c)));
  EXPECT_TRUE(says(to_console(c), "mean ± standard deviation of n seeds"));
  EXPECT_TRUE(says(to_console(c), "bp      90.50 ± 0.71"));
  EXPECT_TRUE(says(to_csv(c),
                   "method,top1_mean,top1_sd,n,seconds_mean,speedup,bp_batches,gp_batches,"
                   "cosine_mean,train_examples,test_examples\n"
                   "bp,90.5,0.7071067811865476,2,120,1,1000,0,,0,0\n"))
      << to_csv(c);
}

TEST(Compare, SaysWhatTheScoresAreOf) {
  auto c = compare(two_seeds());
  EXPECT_TRUE(to_markdown(c).starts_with("| method"));  // nothing known, nothing said
  c.about = "vgg8s on cifar10, cpu";
  c.conditions.data_limit = 500;
  c.conditions.train_examples = 500;
  c.conditions.test_examples = 100;
  c.conditions.input = "32x32";
  c.conditions.settings["model.width_divisor"] = "4";
  const std::string line =
      "vgg8s on cifar10, cpu: 500 training and 100 test examples of 32x32, data.limit = 500, "
      "model.width_divisor = 4\n";
  EXPECT_TRUE(to_markdown(c).starts_with(line)) << to_markdown(c);
  EXPECT_TRUE(to_console(c).starts_with(line));
  EXPECT_TRUE(says(to_csv(c), ",500,100\n"));
  const auto json = nlohmann::json::parse(to_json(c));
  EXPECT_EQ(json["about"], c.about);
  EXPECT_EQ(json["conditions"], c.conditions.to_json());
  EXPECT_EQ(Conditions::read(json["conditions"]).text(), c.conditions.text());
  EXPECT_EQ(Conditions::read(nlohmann::json::object()).text(), "");  // a file from before
}

TEST(Verdict, SaysDirectionAndSizeAgainstBpAndSkip) {
  // adagp - bp = -2.0, -2.1, -1.9: -2 +- 4.303 * 0.1 / sqrt(3) = -2.25 .. -1.75.
  // skip - bp = -1, 1, 0.3: covers 0.   adagp - skip = -1, -3.1, -2.2: -2.1 +- 2.62, covers 0.
  // ema - skip = +5, +3, +3.7 : 3.9 +- 2.52.
  std::vector<RunRecord> runs;
  add_runs(runs, "bp", {90, 90, 90});
  add_runs(runs, "adagp", {88.0, 87.9, 88.1});
  add_runs(runs, "skip", {89, 91, 90.3});
  add_runs(runs, "ema", {94, 94, 94});
  const auto text = verdict(compare(runs));
  EXPECT_TRUE(
      text.starts_with("adagp does not beat skip: these runs cannot tell adagp from skip "
                       "(-2.10 points, -4.72 to +0.52; 3 seeds"))
      << text;
  EXPECT_TRUE(says(text, "\n\nAgainst skip (3 seeds")) << text;
  EXPECT_TRUE(says(text, "ema is higher by 3.90 points (+1.38 to +6.42)")) << text;
  EXPECT_TRUE(says(text, "\n\nAgainst bp (3 seeds")) << text;
  EXPECT_TRUE(says(text, "adagp is lower by 2.00 points (-2.25 to -1.75)")) << text;
  EXPECT_TRUE(says(text, "cannot tell skip from bp (+0.10, ")) << text;
  EXPECT_FALSE(says(text, "too few")) << text;
}

TEST(Verdict, SaysWhenAdagpBeatsSkip) {
  std::vector<RunRecord> runs;
  add_runs(runs, "skip", {80, 81, 82});
  add_runs(runs, "adagp", {82.0, 83.1, 83.9});
  const auto text = verdict(compare(runs));
  EXPECT_TRUE(text.starts_with("adagp beats skip: it is higher by 2.00 points (+")) << text;
  EXPECT_FALSE(says(text, "Against skip")) << "nothing is said twice: " << text;
  EXPECT_TRUE(says(text, "\n\nNo bp runs")) << text;
}

TEST(Verdict, SaysRightAfterwardsWhatBackpropDoesInTheSameSeconds) {
  std::vector<RunRecord> runs;
  add_runs(runs, "bp", {90, 91, 92});
  add_runs(runs, "skip", {80, 81, 82});
  add_runs(runs, "adagp", {82.0, 83.1, 83.9});
  add_runs(runs, "equal-time", {85.0, 86.1, 86.9});
  const auto text = verdict(compare(runs));
  const auto at = text.find("\n\nAgainst backprop for adagp's seconds, equal-time (3 seeds");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_LT(at, text.find("Against skip")) << text;
  EXPECT_TRUE(says(text, "adagp is lower by 3.00 points (-3.00 to -3.00)")) << text;
  EXPECT_FALSE(says(text, "skip from equal-time")) << text;
}

TEST(PlainWords, TellATimeAScoreAndWhetherItPays) {
  // Backprop takes 120 s, adagp 90: three quarters.
  const auto with = [](const std::vector<double>& same_time) {
    std::vector<RunRecord> runs;
    add_runs(runs, "bp", {90, 91, 92});
    add_runs(runs, "adagp", {82.0, 83.1, 83.9});
    if (!same_time.empty()) add_runs(runs, "equal-time", same_time);
    for (auto& run : runs) run.seconds = run.method == "bp" ? 120 : 90;
    return runs;
  };
  const auto text = [](const std::vector<RunRecord>& runs) {
    return in_plain_words(compare(runs));
  };
  EXPECT_EQ(
      text(with({85.0, 86.1, 86.9})),
      "In plain words: training with predicted gradients (adagp) took 75 % of the time of "
      "plain backprop (bp) and reached 83.00 % top-1; backprop reached 91.00 %. Backprop that "
      "stops after adagp's seconds (equal-time) reached 86.00 %: here predicting gradients "
      "does not pay.");
  EXPECT_TRUE(says(text(with({80.0, 81.1, 81.9})), ": here predicting gradients pays."));
  auto late = with({85.0, 86.1, 86.9});
  late.back().seconds *= 1.3;  // equal-time's last seed
  EXPECT_TRUE(says(text(late), "the seconds of the two differ by up to 30 % in one seed"))
      << text(late);
  EXPECT_TRUE(says(text(with({70.0, 95.0, 84.0})), "cannot tell")) << "an interval with zero in it";
  EXPECT_TRUE(says(text(with({85.0})), "cannot tell")) << "one seed";
  auto runs = with({});
  EXPECT_TRUE(text(runs).ends_with("backprop reached 91.00 %.")) << text(runs);
  add_runs(runs, "skip", {80, 81, 82});
  EXPECT_TRUE(says(text(runs), "(skip) reached 81.00 %: here predicting does more"));
  EXPECT_TRUE(to_console(compare(runs)).ends_with(text(runs) + "\n"));
  EXPECT_EQ(in_plain_words(compare({})), "");
}

TEST(Verdict, SaysWhenAdagpIsWorseThanSkip) {
  std::vector<RunRecord> runs;
  add_runs(runs, "skip", {82.0, 83.1, 83.9});
  add_runs(runs, "adagp", {80, 81, 82});
  const auto text = verdict(compare(runs));
  EXPECT_TRUE(text.starts_with("adagp does not beat skip: it is lower by 2.00 points (-")) << text;
}

TEST(Verdict, TwoSeedsAreTooFewHoweverClearTheyLook) {
  std::vector<RunRecord> runs;
  add_runs(runs, "bp", {90, 91});
  add_runs(runs, "skip", {50.0, 51.0});
  add_runs(runs, "adagp", {40.5, 41.5});
  const auto text = verdict(compare(runs));
  EXPECT_EQ(text,
            "2 seeds: too few to tell; differences seen: against skip: adagp -9.50 points; against "
            "bp: skip -40.00, adagp -49.50 points.");
}

TEST(Verdict, SecondsOfABusyMachineAreNotToBeTrusted) {
  std::vector<RunRecord> runs;
  add_runs(runs, "bp", {90, 91, 92}, 20);
  add_runs(runs, "skip", {89, 90, 91}, 1);
  runs[1].seconds = 21.9;
  EXPECT_FALSE(says(verdict(compare(runs)), "busy"));
  runs[1].seconds = 22.1;
  const auto text = verdict(compare(runs));
  EXPECT_TRUE(says(text, "\n\nbp: a run takes 20.00 to 22.10 s. The machine was busy")) << text;
  EXPECT_TRUE(says(to_markdown(compare(runs)), "do not trust what is said of seconds."));
}

TEST(Verdict, WorksWithWhateverIsThere) {
  std::vector<RunRecord> runs;
  EXPECT_EQ(verdict(compare(runs)), "No runs.");
  add_runs(runs, "bp", {90});
  EXPECT_EQ(verdict(compare(runs)), "Only bp runs: nothing to compare.");
  add_runs(runs, "adagp", {89});
  EXPECT_TRUE(says(verdict(compare(runs)), "1 seed: too few to tell"));
  EXPECT_TRUE(says(verdict(compare(runs)), "No skip runs"));

  std::vector<RunRecord> apart{{.method = "bp", .seed = 1}, {.method = "adagp", .seed = 2}};
  EXPECT_TRUE(says(verdict(compare(apart)), "No seed in common with bp: adagp."));

  std::vector<RunRecord> broken;
  add_runs(broken, "bp", {90, 90, 90});
  add_runs(broken, "adagp", {89, std::nan(""), 88});
  EXPECT_TRUE(says(verdict(compare(broken)), "adagp has a run without a score"));
}

}  // namespace
}  // namespace adagp::report
