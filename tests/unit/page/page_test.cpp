#include "adagp/results/page/page.h"

#include <regex>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/results/page/parts.h"
#include "unit/page/run_fixture.h"
#include "unit/temp_folder.h"

namespace adagp::page {
namespace {

using adagp::testing::TempFolder;
using testing::RunFixture;
using testing::write_run;

std::string page_of(const core::fs::path& folder, const PageOptions& options = {}) {
  return make_page(read_inputs({folder.string()}), options);
}

nlohmann::json data_of(const std::string& page) {
  const std::string mark = "id=\"data\">";
  const size_t start = page.find(mark) + mark.size();
  return nlohmann::json::parse(page.substr(start, page.find("</script>", start) - start));
}

void write_comparison(const core::fs::path& folder) {
  for (int64_t seed = 0; seed < 3; ++seed) {
    const auto name = [&](const char* method) { return core::cat(method, "-seed", seed); };
    const auto score = static_cast<double>(seed);
    write_run(folder / name("bp"), {.seed = seed, .score = 80 + score});
    write_run(folder / name("skip"), {.method = "skip", .seed = seed, .score = 70 + score});
    write_run(folder / name("adagp"),
              {.method = "adagp", .seed = seed, .score = 75 + 1.5 * score, .probes = true});
  }
}

TEST(Page, AComparisonHasItsVerdictItsTableAndItsCurves) {
  const TempFolder folder;
  write_comparison(folder.path());
  const std::string page = page_of(folder.path());
  EXPECT_NE(page.find("adagp beats skip: it is higher by 5.50 points"), std::string::npos);
  EXPECT_NE(page.find("76.50 ± 1.50"), std::string::npos) << "of 75, 76.5 and 78";
  const auto curves = data_of(page).at("runs-1-curves");
  ASSERT_EQ(curves.at("s").size(), 3u);
  const auto& bp = curves.at("s")[0];
  EXPECT_EQ(bp.at("n"), "bp") << "backprop is the first";
  EXPECT_EQ(bp.at("x").at("epoch"), nlohmann::json({1, 2, 3}));
  EXPECT_EQ(bp.at("x").at("seconds"), nlohmann::json({1.5, 3, 4.5}));
  EXPECT_EQ(bp.at("x").at("examples"), nlohmann::json({100, 200, 300}));
  EXPECT_EQ(bp.at("y").at("test_top1").at("v")[2], 81) << "mean of 80, 81 and 82";
  EXPECT_EQ(bp.at("y").at("test_top1").at("l")[2], 80);
  EXPECT_EQ(bp.at("y").at("test_top1").at("h")[2], 82);
  EXPECT_TRUE(data_of(page).contains("runs-1-probes-1-cosine"));
}

TEST(Page, SecondsAreDividedWhereTheRunTellsTheirParts) {
  const TempFolder folder;
  write_run(folder.path() / "bp-seed0", {});
  const std::string before = page_of(folder.path());
  EXPECT_NE(before.find("training s"), std::string::npos);
  EXPECT_EQ(before.find("rest of training"), std::string::npos);
  EXPECT_NE(before.find("These runs do not tell"), std::string::npos);

  write_run(folder.path() / "adagp-seed0",
            {.method = "adagp",
             .of_epochs = ",\"bp_seconds\":2.25,\"gp_seconds\":1.5,\"data_seconds\":0.5,"
                          "\"examples\":77"});
  const std::string page = page_of(folder.path());
  const std::regex row(
      "adagp</th>(<td[^>]*>2\\.25</td>)(<td[^>]*>1\\.50</td>)(<td[^>]*>0\\.50</td>)"
      "(<td[^>]*>4\\.50</td>)(<td[^>]*>0\\.50</td>)");
  EXPECT_TRUE(std::regex_search(page, row));
  EXPECT_NE(page.find("are not told apart"), std::string::npos) << "bp";
  EXPECT_NE(page.find("bp</th><td class=\"n\">-</td>"), std::string::npos);
  const auto curves = data_of(page).at("runs-1-curves").at("s");
  EXPECT_EQ(curves[1].at("x").at("examples"), nlohmann::json({77, 77, 77}));
  EXPECT_FALSE(curves[1].at("y").contains("bp_seconds")) << "no figure of the curves";
}

TEST(Page, EqualRunsGiveEqualBytes) {
  const TempFolder folder;
  write_comparison(folder.path());
  EXPECT_EQ(page_of(folder.path()), page_of(folder.path()));
}

TEST(Page, NamesFromFilesAreTextAndNothingElse) {
  const TempFolder folder;
  const std::string evil = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>\n";
  write_run(folder.path() / "a</script><b>-seed0", {.method = evil, .model = evil, .data = evil});
  write_run(folder.path() / "b-seed0",
            {.method = "bp", .model = evil, .data = evil, .finished = false, .probes = true});
  const std::string page = page_of(folder.path(), {evil, evil, 0});
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  const std::regex script("<script"), end("</script");
  const auto count = [&](const std::regex& what) {
    return std::distance(std::sregex_iterator(page.begin(), page.end(), what), {});
  };
  EXPECT_EQ(count(script), 2) << "the data and the script";
  EXPECT_EQ(count(end), 2);
  EXPECT_NO_THROW(data_of(page));
}

TEST(Page, NothingIsFetchedAndTheScriptIsTheOneThatIsAllowed) {
  const TempFolder folder;
  write_comparison(folder.path());
  const std::string page = page_of(folder.path());
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_FALSE(std::regex_search(page, std::regex("(src|href)=\"(?!#|data:,\")")));
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg"))
      << "a name of XML in the script, and no address";
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

TEST(Page, ItsScriptIsSmallAndKeepsItsLines) {
  const std::string script = page_script();
  EXPECT_LE(script.size(), 15u * 1024);
  EXPECT_NE(script.find("root.dataset.ready='yes';"), std::string::npos);
}

TEST(Page, RunsOfSeveralNetworksAreNotCompared) {
  const TempFolder folder;
  write_run(folder.path() / "a", {.model = "one"});
  write_run(folder.path() / "b", {.method = "adagp", .model = "two"});
  const std::string page = page_of(folder.path());
  EXPECT_NE(page.find("2 networks or data sets"), std::string::npos);
  EXPECT_NE(page.find("one on toy"), std::string::npos);
  EXPECT_NE(page.find("two on toy"), std::string::npos);
  EXPECT_EQ(page.find("adagp − bp"), std::string::npos);
}

TEST(Page, UnfinishedRunsAreShownAndNotJudged) {
  const TempFolder folder;
  write_comparison(folder.path());
  write_run(folder.path() / "bp-seed3", {.seed = 3, .score = 0, .finished = false});
  const Inputs inputs = read_inputs({folder.path().string()});
  EXPECT_TRUE(inputs.unfinished());
  const std::string page = make_page(inputs, {"t", "", 10});
  EXPECT_NE(page.find("1 run is not finished"), std::string::npos);
  EXPECT_NE(page.find("81.00 ± 1.00"), std::string::npos) << "the mean of the three finished ones";
  EXPECT_NE(page.find("data-reload=\"10\""), std::string::npos);
}

TEST(Page, WhatCannotBeReadIsNamedAndTheRestIsShown) {
  const TempFolder folder;
  write_run(folder.path() / "runs" / "bp-seed0", {});
  core::make_folder(folder.path() / "empty");
  core::write_file(folder.path() / "cut.json", "{\"designs\": ");
  core::write_file(folder.path() / "other.json", "{\"a\": 1}");
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const Inputs inputs = read_inputs(
      {path("runs"), path("empty"), path("cut.json"), path("other.json"), path("none")});
  EXPECT_EQ(inputs.groups.size(), 1u);
  ASSERT_EQ(inputs.left_out.size(), 4u);
  EXPECT_NE(inputs.left_out[0].find("no run folder"), std::string::npos);
  EXPECT_NE(inputs.left_out[1].find("not JSON"), std::string::npos);
  EXPECT_NE(inputs.left_out[2].find("neither"), std::string::npos);
  EXPECT_NE(inputs.left_out[3].find("no such file"), std::string::npos);
  EXPECT_NE(make_page(inputs, {}).find("Left out, and why"), std::string::npos);
  EXPECT_THROW(read_inputs({path("empty")}), DataError);
  EXPECT_THROW(read_inputs({path("runs"), path("runs/")}), UsageError);
}

TEST(Page, ALongRunIsThinned) {
  const TempFolder folder;
  write_run(folder.path() / "bp", {.epochs = 5000});
  const auto curves = data_of(page_of(folder.path())).at("runs-1-curves").at("s")[0];
  EXPECT_EQ(curves.at("x").at("epoch").size(), 600u);
  EXPECT_EQ(curves.at("x").at("epoch").front(), 1);
  EXPECT_EQ(curves.at("x").at("epoch").back(), 5000);
}

}  // namespace
}  // namespace adagp::page
