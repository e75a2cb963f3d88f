#include "adagp/results/report/chart.h"

#include <cmath>
#include <limits>
#include <regex>

#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/results/report/svg.h"
#include "unit/temp_folder.h"

namespace adagp::report {
namespace {

BarChart two_stacks() {
  BarChart chart;
  chart.title = "a < b & \"c\"";
  chart.x_title = "layer";
  chart.y_title = "cycles";
  chart.categories = {"conv1", "conv<2>", "fc"};
  chart.series = {{"BP", {30, 20, 10}, 0}, {"GP", {15, 5, 0}, 1}, {"warm-up", {10, 10, 10}, 1}};
  return chart;
}

struct Shape {
  double x, y, width, height;
};

std::vector<Shape> shapes(const std::string& text, const std::string& kind) {
  const std::regex pattern(
      "<rect x=\"([^\"]*)\" y=\"([^\"]*)\" width=\"([^\"]*)\" "
      "height=\"([^\"]*)\" class=\"f[^ \"]* " +
      kind + "\"");
  std::vector<Shape> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    found.push_back(
        {std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
  }
  return found;
}

// Coordinates are written with two digits, so a height is off by at most 0.01.
constexpr double kRounding = 0.011;

// Python's parser judges, not a second one of ours.
void expect_well_formed(const std::string& text) {
  const testing::TempFolder folder;
  core::write_file(folder.path() / "chart.svg", text);
  const std::string command = std::string(ADAGP_PYTHON) +
                              " -c \"import sys, xml.etree.ElementTree as e; "
                              "assert e.parse(sys.argv[1]).getroot().tag.endswith('svg')\" " +
                              (folder.path() / "chart.svg").string();
  EXPECT_EQ(std::system(command.c_str()), 0) << text;
}

TEST(Chart, BarsAreAsHighAsTheirValues) {
  const auto bars = shapes(svg(two_stacks()), "bar");
  ASSERT_EQ(bars.size(), 9u);
  const double values[] = {30, 15, 10, 20, 5, 10, 10, 0, 10};  // by category, then by series
  const double unit = bars[0].height / 30;
  for (size_t i = 0; i < bars.size(); ++i) {
    EXPECT_NEAR(bars[i].height, values[i] * unit, kRounding) << i;
  }
}

TEST(Chart, OneStackStandsOnItselfAndStacksStandSideBySide) {
  const auto bars = shapes(svg(two_stacks()), "bar");
  const Shape &bp = bars[0], &gp = bars[1], &warm = bars[2];
  EXPECT_NEAR(warm.y + warm.height, gp.y, kRounding);
  EXPECT_NEAR(gp.y + gp.height, bp.y + bp.height, kRounding);
  EXPECT_DOUBLE_EQ(warm.x, gp.x);
  EXPECT_GE(gp.x, bp.x + bp.width - kRounding);
}

TEST(Chart, EverySeriesIsInTheLegendAndAxesHaveTitles) {
  const std::string text = svg(two_stacks());
  for (const char* word : {">BP<", ">GP<", ">warm-up<", ">layer<", ">cycles<", ">conv&lt;2&gt;<"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

TEST(Chart, IsWellFormedXmlWhateverTheNames) {
  BarChart bars = two_stacks();
  bars.series[0].name = "\x01 ' & ]]>";
  bars.series[1].name = "Convoluci\xf3n \xff";
  expect_well_formed(svg(bars));
  expect_well_formed(svg(LineChart{"<t>", "x", "y", {{"a&b", {{0, 1}, {1, 2}}}}}));
  expect_well_formed(svg(GanttChart{"g", "step", {"<0>"}, {{0, 0, 2, "F&0", "forward"}}}));
}

TEST(Chart, ALongTitleIsInsideThePicture) {
  BarChart chart = two_stacks();
  chart.categories = {"a"};
  chart.series = {{"BP", {30}, 0}};
  chart.title = std::string(120, 'w');
  const std::string text = svg(chart);
  std::smatch size;
  ASSERT_TRUE(std::regex_search(text, size, std::regex("viewBox=\"0 0 ([0-9.]+)")));
  EXPECT_GT(std::stod(size[1]), text_width(chart.title, 16));
}

TEST(Chart, EqualDataGiveEqualBytes) {
  EXPECT_EQ(svg(two_stacks()), svg(two_stacks()));
}

TEST(Chart, LinesRiseWithTheirValues) {
  const std::string text = svg(LineChart{"", "x", "y", {{"a", {{0, 0}, {1, 10}, {2, 5}}}}});
  std::smatch found;
  const std::regex points("points=\"([\\d.]+),([\\d.]+) ([\\d.]+),([\\d.]+) ([\\d.]+),([\\d.]+)\"");
  ASSERT_TRUE(std::regex_search(text, found, points));
  const double y0 = std::stod(found[2]), y1 = std::stod(found[4]), y2 = std::stod(found[6]);
  EXPECT_NEAR(y0 - y2, (y0 - y1) / 2, kRounding);
  EXPECT_NEAR(std::stod(found[3]) - std::stod(found[1]), std::stod(found[5]) - std::stod(found[3]),
              kRounding);
}

struct Spot {
  double x, y;
};

std::vector<Spot> circles(const std::string& text) {
  const std::regex pattern("<circle cx=\"([^\"]*)\" cy=\"([^\"]*)\"");
  std::vector<Spot> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    found.push_back({std::stod((*it)[1]), std::stod((*it)[2])});
  }
  return found;
}

LineChart marked() {
  LineChart chart{"", "s", "%", {{"a", {{10, 88}, {20, 89}, {40, 89.5}}}}};
  chart.series[0].marker = 1;
  chart.log_x = true;
  chart.from_zero = false;
  return chart;
}

TEST(Chart, EqualFactorsAreEqualDistancesOnALogarithmicAxis) {
  const auto spots = circles(svg(marked()));
  ASSERT_EQ(spots.size(), 4u);  // the legend's first
  EXPECT_NEAR(spots[2].x - spots[1].x, spots[3].x - spots[2].x, 2 * kRounding);
  EXPECT_NEAR(spots[1].y - spots[2].y, 2 * (spots[2].y - spots[3].y), 3 * kRounding);
  // 320 pixels for what is shown: a scale from zero would leave 1.5 points of 89.5 five of them.
  EXPECT_GT(spots[1].y - spots[3].y, 100);
}

TEST(Chart, BarsOfErrorReachAsFarAsTheySay) {
  LineChart chart = marked();
  chart.series[0].errors = {0.5, 0, 0.25};
  const std::string text = svg(chart);
  const auto spots = circles(text);
  const std::regex pattern(
      "y1=\"([^\"]*)\" x2=\"[^\"]*\" y2=\"([^\"]*)\" class=\"l[^\"]*\" "
      "stroke-width=\"1.50\"");
  std::vector<double> heights;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    heights.push_back(std::stod((*it)[1]) - std::stod((*it)[2]));
  }
  ASSERT_EQ(heights.size(), 2u);
  const double point = spots[1].y - spots[2].y;  // one point of score
  EXPECT_NEAR(heights[0], point, 2 * kRounding);
  EXPECT_NEAR(heights[1], point / 2, 2 * kRounding);
  chart.series[0].errors = {0.5};
  EXPECT_THROW(svg(chart), Error);
  chart = marked();
  chart.series[0].points[0].first = 0;
  EXPECT_THROW(svg(chart), Error) << "no place on a logarithmic axis";
}

TEST(Chart, StrokesMarkersAndColoursAreAsAsked) {
  LineChart chart = marked();
  chart.series[0].stroke = Stroke::kNone;
  chart.series.push_back({"", {{10, 88}, {40, 89}}, Stroke::kDashed, 0, 0});
  chart.series.push_back({"b", {{10, 87}}, Stroke::kSolid, 3, 0});
  const std::string text = svg(chart);
  expect_well_formed(text);
  const std::regex line("<polyline[^>]*>");
  EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), line), {}), 3)
      << "the dashed one, b's of one point and b's in the legend";
  const std::regex triangle("<polygon points=\"[^ ]* [^ ]* [^ ]*\" class=\"fs0 marker\"");
  EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), triangle), {}), 2);
  EXPECT_EQ(text.find("></text>"), std::string::npos) << "no empty line in the legend";
}

TEST(Chart, BoxesLieOnTheirLaneForTheirTime) {
  const GanttChart chart{"", "step", {"0", "1"}, {{0, 0, 2, "F", "f"}, {1, 2, 6, "B", "b"}}};
  const auto boxes = shapes(svg(chart), "box");
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_NEAR(boxes[1].width, 2 * boxes[0].width, kRounding);
  EXPECT_NEAR(boxes[1].x, boxes[0].x + boxes[0].width, kRounding);
  EXPECT_GE(boxes[1].y, boxes[0].y + boxes[0].height);
}

TEST(Chart, DataThatDoNotFitAreRefused) {
  BarChart chart = two_stacks();
  chart.series[1].values.pop_back();
  EXPECT_THROW(svg(chart), Error);
  chart = two_stacks();
  chart.series[0].values[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(svg(chart), Error);
  chart.series[0].values[1] = -1;
  EXPECT_THROW(svg(chart), Error);
  EXPECT_THROW(svg(BarChart{}), Error);
  EXPECT_THROW(svg(LineChart{}), Error);
  EXPECT_THROW(svg(GanttChart{"", "", {"0"}, {{1, 0, 1, "F", "f"}}}), Error);
  EXPECT_THROW(svg(GanttChart{"", "", {"0"}, {{0, 3, 1, "F", "f"}}}), Error);
}

TEST(Chart, TicksAreRoundAndCoverTheData) {
  EXPECT_EQ(axis_ticks(0, 1.47), (std::vector<double>{0, 0.25, 0.5, 0.75, 1, 1.25, 1.5}));
  EXPECT_EQ(axis_ticks(0, 7), (std::vector<double>{0, 2, 4, 6, 8}));
  for (const double high : {1e-9, 3.0, 99.0, 1e12}) {
    const auto ticks = axis_ticks(0, high);
    EXPECT_LE(ticks.size(), 12u);
    EXPECT_GE(ticks.back(), high * (1 - 1e-6));
  }
}

TEST(Chart, TicksOfAnyNumbersComeToAnEnd) {
  for (const double low : {-1e308, -1.0, 0.0, 1e-320, 1e16, 1e300, 1.7e308}) {
    for (const double high : {low, std::nextafter(low, 1.7e308), 1.0, 1e16 + 2, 1.7e308}) {
      const auto ticks = axis_ticks(low, std::max(low, high));
      EXPECT_GE(ticks.size(), 2u) << low << " " << high;
      EXPECT_LE(ticks.size(), 20u) << low << " " << high;
      EXPECT_LT(ticks.front(), ticks.back()) << low << " " << high;
      if (low <= 0) continue;
      const auto powers = log_ticks(low, std::max(low, high));
      EXPECT_LE(powers.size(), 700u);
      EXPECT_LT(powers.front(), powers.back());
    }
  }
}

TEST(Chart, LogarithmicTicksAreRoundAndCoverTheData) {
  EXPECT_EQ(log_ticks(22, 45), (std::vector<double>{20, 30, 40, 50}));
  EXPECT_EQ(log_ticks(3, 120), (std::vector<double>{2, 5, 10, 20, 50, 100, 200}));
  EXPECT_EQ(log_ticks(10, 10), (std::vector<double>{10, 15}));
  for (const double high : {1.5e-3, 1.0, 7e3, 1e9}) {
    const auto ticks = log_ticks(1e-3, high);
    EXPECT_LE(ticks.size(), 14u);
    EXPECT_LE(ticks.front(), 1e-3 * (1 + 1e-6));
    EXPECT_GE(ticks.back(), high * (1 - 1e-6));
  }
}

}  // namespace
}  // namespace adagp::report
