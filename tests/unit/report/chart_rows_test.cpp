#include <cmath>
#include <regex>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/results/report/chart.h"

namespace adagp::report {
namespace {

double luminance(const std::string& colour) {
  double out = 0;
  const double weights[] = {0.2126, 0.7152, 0.0722};
  for (size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    out += weights[i] * (c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return out;
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
  return std::max(x, y) / std::min(x, y);
}

const NamedColour& named(const std::string& name) {
  for (const NamedColour& colour : chart_colours()) {
    if (colour.name == name) return colour;
  }
  throw Error("no colour " + name);
}

// WCAG 2.2: 3 : 1 for lines, 4.5 : 1 for text.
TEST(ChartStyle, LinesAndTextStandOutFromThePaperOfBothThemes) {
  const NamedColour& paper = named("paper");
  EXPECT_NEAR(contrast("#ffffff", "#000000"), 21, 1e-9);
  for (int i = 0; i < kSeriesColours; ++i) {
    const NamedColour& line = named("s" + std::to_string(i));
    EXPECT_GE(contrast(line.light, paper.light), 3) << line.name;
    EXPECT_GE(contrast(line.dark, paper.dark), 3) << line.name;
  }
  for (const char* name : {"ink", "axis"}) {
    EXPECT_GE(contrast(named(name).light, paper.light), 4.5) << name;
    EXPECT_GE(contrast(named(name).dark, paper.dark), 4.5) << name;
  }
}

TEST(ChartStyle, AFileHasColoursAndAPageHasVariables) {
  const LineChart chart{"t", "x", "y", {{"a", {{0, 1}, {1, 2}}}}};
  const std::string file = svg(chart), page = svg(chart, Use::kPage);
  EXPECT_NE(file.find(".ls0{stroke:#0072b2}"), std::string::npos);
  EXPECT_EQ(page.find("<style"), std::string::npos);
  EXPECT_EQ(page.find('#'), std::string::npos) << "no colour of its own";
  EXPECT_EQ(page.find(">t<"), std::string::npos) << "the title is in the page";
  EXPECT_NE(chart_style(true).find(".ls0{stroke:var(--s0)}"), std::string::npos);
}

TEST(HeatMap, ColoursGoFromTheLowestToTheHighestAndZeroIsInTheMiddle) {
  EXPECT_EQ(heat_colour(0, 1), 10);
  EXPECT_EQ(heat_colour(1, 1), 20);
  EXPECT_EQ(heat_colour(-1, 1), 0);
  EXPECT_EQ(heat_colour(7, 1), 20) << "beyond the limit";
  EXPECT_EQ(heat_colour(0.001, 1), 11) << "little is not nothing";
  EXPECT_EQ(heat_colour(-0.001, 1), 9);
}

TEST(HeatMap, HasACellForEachNumberAndNoneForWhatIsMissing) {
  const HeatMap map{"", "batches", {"a", "b"}, {1, 2, 3}, {{1, NAN, 0}, {-1, 1, 1}}, 1};
  const std::string text = svg(map, Use::kPage);
  const auto cells = [&](const std::string& colour) {
    std::smatch found;
    const std::regex path("<path class=\"f" + colour + "\" d=\"([^\"]*)\"");
    if (!std::regex_search(text, found, path)) return 0;
    const std::string d = found[1];
    return static_cast<int>(std::count(d.begin(), d.end(), 'M'));
  };
  EXPECT_EQ(cells("h20"), 3);
  EXPECT_EQ(cells("h10"), 1);
  EXPECT_EQ(cells("h0"), 1);
  EXPECT_THROW(svg(HeatMap{}), Error);
  EXPECT_THROW(svg(HeatMap{"", "", {"a"}, {1, 2}, {{1}}, 1}), Error);
}

TEST(IntervalChart, BarsReachAsFarAsTheirIntervals) {
  const IntervalChart chart{"", "points", {{"a", 1, 0, 2}, {"b", -1, -3, 1}, {"c", 0.5, NAN, NAN}}};
  const std::string text = svg(chart, Use::kPage);
  const std::regex bar(
      "<line x1=\"([^\"]*)\" y1=\"[^\"]*\" x2=\"([^\"]*)\" y2=\"[^\"]*\" class=\"ls0\"");
  std::vector<std::pair<double, double>> bars;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), bar); it != std::sregex_iterator();
       ++it) {
    bars.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
  }
  ASSERT_EQ(bars.size(), 2u) << "one seed has no interval";
  const double point = (bars[0].second - bars[0].first) / 2;
  EXPECT_NEAR(bars[1].second - bars[1].first, 4 * point, 0.05);
  EXPECT_NEAR(bars[0].first - bars[1].first, 3 * point, 0.05);
}

TEST(LineChart, BandsAreDrawnFromTheirLowestToTheirHighest) {
  LineChart chart{"", "x", "y", {{"a", {{0, 1}, {1, 2}}}}};
  chart.series[0].band = {{0, 3}, {1, 4}};
  EXPECT_NE(svg(chart).find("class=\"fs0 band\""), std::string::npos);
  chart.series[0].band.pop_back();
  EXPECT_THROW(svg(chart), Error);
  chart.series[0].band.clear();
  chart.log_y = true;
  chart.series[0].points[0].second = 0;
  EXPECT_THROW(svg(chart), Error) << "no place on a logarithmic axis";
}

}  // namespace
}  // namespace adagp::report
