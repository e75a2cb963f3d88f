#include "adagp/results/report/run_files.h"

#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/results/report/probe_report.h"
#include "unit/temp_folder.h"

namespace adagp::report {
namespace {

// Probe of a layer: cosine, relative error, norm ratio, R2, MSE, MAPE, q, bias.
constexpr const char* kHistoryRecords =
    R"({"kind":"train","step":1,"epoch":0,"probes":[[0.5,2.0,1,0,0.04,30,0,0],[null,0,0,0,0,0,0,0]]}
{"kind":"train","step":2,"epoch":0,"predictor_loss":0.7,"probes":[[0.1,1.5,1,0,0.02,20,0,0],[0.3,1,1,0,0.5,9,0,0]]}
{"kind":"epoch","step":2,"epoch":0,"test_loss":2,"train_loss":2.1,"train_seconds":3.0}
{"kind":"of another version","step":2}
{"kind":"train","step":4,"epoch":1,"predictor_loss":0.6,"probes":[[0.0,1.0,1,0,0.01,10,0,0],[0.2,1,1,0,0.1,8,0,0]]}
{"kind":"epoch","step":4,"epoch":1,"test_loss":1,"train_loss":1.1,"train_seconds":3.5}
{"kind":"train","step":5,"epoch":2,"predictor_loss":0.1}
)";

std::vector<EpochHistory> history_of(const std::string& text) {
  const adagp::testing::TempFolder folder;
  core::write_file(folder.path() / "metrics.jsonl", text);
  return read_history(folder.path() / "metrics.jsonl");
}

TEST(RunHistory, HasSecondsOfEachEpochAndItsLastProbe) {
  const auto history = history_of(kHistoryRecords);
  ASSERT_EQ(history.size(), 2U);  // the third epoch is not complete
  EXPECT_DOUBLE_EQ(history[0].seconds, 3);
  EXPECT_DOUBLE_EQ(history[1].seconds, 0.5);
  EXPECT_DOUBLE_EQ(history[0].layers.at(0).mse, 0.02);
  EXPECT_DOUBLE_EQ(history[0].layers.at(0).mape, 20);
  EXPECT_DOUBLE_EQ(history[1].layers.at(1).cosine, 0.2);
  EXPECT_DOUBLE_EQ(*history[1].predictor_loss, 0.6);
  EXPECT_DOUBLE_EQ(history[1].train_loss, 1.1);
}

TEST(RunHistory, RefusesWhatIsNoRecordWithItsLine) {
  try {
    history_of("\n{\"kind\":\"ep\n");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("metrics.jsonl:2"), std::string::npos);
  }
  EXPECT_TRUE(history_of("{\"kind\":\"tr").empty());  // a record that is being written
  EXPECT_TRUE(history_of("").empty());
  EXPECT_TRUE(std::isnan(history_of("{\"kind\":\"epoch\",\"epoch\":0}\n").at(0).train_loss));
}

TEST(ProbeReport, RelativeErrorSquaredIsTheMseOverTheGradientsSize) {
  const auto history = history_of(kHistoryRecords);
  const auto json = nlohmann::json::parse(probe_json(history));
  EXPECT_DOUBLE_EQ(json["layers"][0]["relative_mse"][0], 2.25);
  EXPECT_DOUBLE_EQ(json["layers"][0]["relative_mse"][1], 1.0);
  // Layer 1 falls from 0.02 to 0.01, layer 2 from 0.5 to 0.1; MSE / mean(g^2) from (2.25 + 1) / 2.
  const std::string note = probe_note(history);
  EXPECT_NE(note.find("MSE 0.26 -> 0.055, MSE / mean(g^2) 1.625 -> 1.000"), std::string::npos)
      << note;
  EXPECT_NE(note.find("cosine 0.200 -> 0.100"), std::string::npos) << note;
  EXPECT_EQ(probe_charts(history, "p", "t").size(), 3U);
  EXPECT_EQ(loss_charts(history, "p", "t").size(), 1U);
  EXPECT_TRUE(probe_charts({}, "p", "t").empty());
  EXPECT_NE(probe_note({}).find("no probes"), std::string::npos);
}

}  // namespace
}  // namespace adagp::report
