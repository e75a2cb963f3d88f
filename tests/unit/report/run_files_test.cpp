#include "adagp/results/report/run_files.h"

#include <cmath>

#include <gtest/gtest.h>

#include "unit/temp_folder.h"

namespace adagp::report {
namespace {

const std::string kRecords =
    R"({"epoch":0,"kind":"train","loss":2.5,"step":4})"
    "\n"
    R"({"cost_epochs":1.5,"epoch":0,"kind":"epoch","step":5,"test_loss":2.25,"test_top1":40.5,"train_seconds":3.5})"
    "\n"
    R"({"kind":"decision","step":7,"what":"adopt","candidate":"skip","tried":2,"used_k":2,"rate":0.5,"bp_rate":0.25,"low":0.125,"pairs":3})"
    "\n"
    R"({"kind":"of another version","step":8})"
    "\n"
    R"({"epoch":1,"kind":"train","loss":1.5,"step":9,"probes":[[0.5,1,2,3,4,5,0.25,0.75],null]})"
    "\n";

TEST(Metrics, HoldWhatTheRecordsSay) {
  const Metrics metrics = parse_metrics(kRecords, "metrics.jsonl");
  ASSERT_EQ(metrics.epochs.size(), 1u);
  const EpochRecord& epoch = metrics.epochs[0];
  EXPECT_EQ(epoch.step, 5);
  EXPECT_EQ(epoch.seconds, 3.5);
  EXPECT_EQ(epoch.cost, 1.5);
  EXPECT_TRUE(std::isnan(epoch.examples)) << "is not recorded";
  EXPECT_EQ(epoch.figures,
            (std::map<std::string, double>{{"test_loss", 2.25}, {"test_top1", 40.5}}));
  ASSERT_EQ(metrics.decisions.size(), 1u);
  EXPECT_EQ(metrics.decisions[0].candidate, "skip");
  EXPECT_EQ(metrics.decisions[0].used_k, 2);
  ASSERT_EQ(metrics.probes.size(), 1u);
  EXPECT_EQ(metrics.probes[0].at(0, Probe::kCosine), 0.5);
  EXPECT_EQ(metrics.probes[0].at(0, Probe::kNormRatio), 2);
  EXPECT_EQ(metrics.probes[0].at(0, Probe::kQ), 0.25);
  EXPECT_EQ(metrics.probes[0].at(0, Probe::kBias), 0.75);
  EXPECT_TRUE(std::isnan(metrics.probes[0].at(1, Probe::kQ)));
  EXPECT_EQ(metrics.last_step, 9);
  EXPECT_EQ(metrics.last_loss, 1.5);
  EXPECT_TRUE(metrics.notes.empty());
}

TEST(Metrics, ARecordThatIsBeingWrittenIsNotMissed) {
  const Metrics metrics = parse_metrics(kRecords + R"({"epoch":1,"kind":"epo)", "m");
  EXPECT_EQ(metrics.epochs.size(), 1u);
  EXPECT_TRUE(metrics.notes.empty()) << metrics.notes[0];
}

TEST(Metrics, LinesThatAreNoRecordsAreNamedAndTheOthersKept) {
  const Metrics metrics = parse_metrics("rubbish\n" + kRecords + "[1]\n", "m");
  EXPECT_EQ(metrics.epochs.size(), 1u);
  ASSERT_EQ(metrics.notes.size(), 1u);
  EXPECT_EQ(metrics.notes[0], "m:1: not a record, left out (and 1 more lines)");
}

TEST(Metrics, ProbesAreThinnedEvenlyWithTheFirstAndTheLast) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += R"({"kind":"train","probes":[[1,1,1,1,1,1,1,1]],"step":)" + std::to_string(i) + "}\n";
  }
  const Metrics metrics = parse_metrics(text, "m", 12);
  ASSERT_EQ(metrics.probes.size(), 12u);
  EXPECT_EQ(metrics.probes.front().step, 0);
  EXPECT_EQ(metrics.probes.back().step, 99);
  for (size_t i = 1; i < 12; ++i) {
    EXPECT_EQ(metrics.probes[i].step - metrics.probes[i - 1].step, 9);
  }
}

TEST(RunFiles, AnUnfinishedRunTellsItsConfigurationAndHowLongItTakes) {
  const testing::TempFolder folder;
  core::write_file(folder.path() / "config.toml",
                   "method = 'adagp'\nepochs = 5\nbatch = 8\nseed = 3\n[model]\nname = 'a\"b'\n");
  core::write_file(folder.path() / "metrics.jsonl", kRecords);
  const RunFiles run = read_run(folder.path());
  EXPECT_FALSE(run.finished());
  EXPECT_EQ(run.method(), "adagp");
  EXPECT_EQ(run.model(), "a\"b");
  EXPECT_EQ(run.epochs(), 5);
  EXPECT_EQ(run.seed(), 3);
  EXPECT_DOUBLE_EQ(seconds_left(run), 4 * 3.5) << "one epoch of 3.5 s is done, four are left";
  EXPECT_EQ(progress_table({run}).rows(), 1u);
}

TEST(RunFiles, ABadFileIsNamedAndHidesNothingElse) {
  const testing::TempFolder folder;
  core::write_file(folder.path() / "config.toml", "method = ");
  core::write_file(folder.path() / "summary.json", "{\"method\": \"bp\"");
  core::write_file(folder.path() / "environment.json", "[]");
  core::write_file(folder.path() / "metrics.jsonl", kRecords);
  const RunFiles run = read_run(folder.path());
  EXPECT_EQ(run.metrics.epochs.size(), 1u);
  EXPECT_FALSE(run.finished());
  ASSERT_EQ(run.notes.size(), 3u);
  for (const char* name : {"config.toml", "summary.json", "environment.json"}) {
    EXPECT_TRUE(std::any_of(run.notes.begin(), run.notes.end(), [&](const std::string& note) {
      return note.find(name) != std::string::npos;
    })) << name;
  }
}

TEST(RunFiles, DeepJsonIsRefusedAndACommandIsALine) {
  const testing::TempFolder folder;
  const auto environment = folder.path() / "environment.json";
  core::write_file(environment, R"({"command": ["adagp", "train", "my recipe"], "cores": 2})");
  EXPECT_EQ(read_run(folder.path()).environment.at("command"), "adagp train 'my recipe'");
  core::write_file(environment,
                   "{\"a\": " + std::string(1000000, '[') + std::string(1000000, ']') + "}");
  const RunFiles run = read_run(folder.path());
  EXPECT_TRUE(run.environment.empty());
  ASSERT_EQ(run.notes.size(), 1u);
  core::write_file(environment, "{\"a\": \"" + std::string(1000, '[') + "\\\"\"}");
  EXPECT_EQ(read_run(folder.path()).environment.at("a").size(), 1001u) << "brackets in a text";
}

TEST(RunFiles, RunsOfAFolderAreInTheOrderOfTheirNumbers) {
  const testing::TempFolder folder;
  for (const char* name : {"bp-seed10", "bp-seed9", "adagp-seed2", ".hidden", "no-run"}) {
    core::make_folder(folder.path() / name);
    if (std::string(name) != "no-run") {
      core::write_file(folder.path() / name / "config.toml", "");
    }
  }
  std::vector<std::string> names;
  for (const auto& one : run_folders_in(folder.path())) names.push_back(one.filename());
  EXPECT_EQ(names, (std::vector<std::string>{"adagp-seed2", "bp-seed9", "bp-seed10"}));
}

}  // namespace
}  // namespace adagp::report
