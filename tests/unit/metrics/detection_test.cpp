// Suppression and mean average precision: against torchvision and slow loops in Python on random
// boxes, and by hand.

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/rng.h"
#include "adagp/engine/metrics/mean_ap.h"
#include "unit/python.h"
#include "unit/temp_folder.h"

namespace adagp::metrics {
namespace {

using core::Box;
using core::LabelledBox;

constexpr int64_t kClasses = 4;

struct Picture {
  std::vector<LabelledBox> objects;
  std::vector<ScoredBox> found;
};

Box random_box(core::Rng& rng) {
  const double x = rng.uniform(0, 60), y = rng.uniform(0, 60);
  return {x, y, x + rng.uniform(5, 40), y + rng.uniform(5, 40)};
}

Box shaken(core::Rng& rng, const Box& b) {
  return {b.left + rng.uniform(-4, 4), b.top + rng.uniform(-4, 4), b.right + rng.uniform(-4, 4),
          b.bottom + rng.uniform(-4, 4)};
}

// Crowded pictures: objects overlap, are found twice, missed, or given another class.
std::vector<Picture> random_pictures(int64_t count, uint64_t seed) {
  core::Rng rng(seed);
  std::vector<Picture> out;
  for (int64_t i = 0; i < count; ++i) {
    Picture picture;
    for (int64_t n = rng.below(6); n > 0; --n) {
      picture.objects.push_back({random_box(rng), rng.below(kClasses - 1), rng.below(5) == 0});
    }
    for (const auto& object : picture.objects) {
      for (int64_t n = rng.below(4); n > 0; --n) {
        const int64_t label = rng.below(4) == 0 ? rng.below(kClasses) : object.label;
        picture.found.push_back({shaken(rng, object.box), label, rng.uniform()});
      }
    }
    for (int64_t n = rng.below(8); n > 0; --n) {
      picture.found.push_back({random_box(rng), rng.below(kClasses), rng.uniform()});
    }
    out.push_back(std::move(picture));
  }
  return out;
}

nlohmann::json to_json(const Box& b) {
  return {b.left, b.top, b.right, b.bottom};
}

nlohmann::json ask_python(const std::vector<Picture>& pictures, double overlap) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& picture : pictures) {
    nlohmann::json objects = nlohmann::json::array(), found = nlohmann::json::array();
    for (const auto& o : picture.objects) {
      objects.push_back({{"box", to_json(o.box)}, {"label", o.label}, {"difficult", o.difficult}});
    }
    for (const auto& f : picture.found) {
      found.push_back({{"box", to_json(f.box)}, {"label", f.label}, {"score", f.score}});
    }
    all.push_back({{"objects", objects}, {"found", found}});
  }
  const adagp::testing::TempFolder folder;
  const auto file = folder / "case.json";
  std::ofstream(file) << nlohmann::json{
      {"pictures", all}, {"overlap", overlap}, {"classes", kClasses}};
  return nlohmann::json::parse(adagp::testing::run_python(
      "tests/unit/metrics/python/detection_reference.py", file.string()));
}

TEST(Detection, AgreesWithPythonOnRandomBoxes) {
  const auto pictures = random_pictures(60, 11);
  constexpr double kOverlap = 0.3;
  const auto expected = ask_python(pictures, kOverlap);
  MeanAp meter(kClasses);
  for (size_t i = 0; i < pictures.size(); ++i) {
    EXPECT_EQ(nms(pictures[i].found, kOverlap), expected["kept"][i].get<std::vector<size_t>>());
    meter.add(pictures[i].objects, pictures[i].found);
  }
  const auto value = meter.value();
  double area = 0, eleven = 0;
  int64_t counted = 0;
  for (size_t c = 0; c < kClasses; ++c) {
    const auto& one = expected["classes"][c];
    if (one.is_null()) continue;
    // Both count in doubles; sums of at most a few hundred terms.
    EXPECT_NEAR(value.classes[c].area, one[0].get<double>(), 1e-12) << c;
    EXPECT_NEAR(value.classes[c].eleven, one[1].get<double>(), 1e-12) << c;
    area += one[0].get<double>();
    eleven += one[1].get<double>();
    ++counted;
  }
  // The last class has detections but no objects.
  EXPECT_EQ(counted, kClasses - 1);
  EXPECT_EQ(value.classes.back().objects, 0);
  EXPECT_NEAR(value.area, area / static_cast<double>(counted), 1e-12);
  EXPECT_NEAR(value.eleven, eleven / static_cast<double>(counted), 1e-12);
  EXPECT_GT(value.area, 0.1);
  EXPECT_LT(value.area, 0.9);
}

TEST(MeanAp, OneHitOfTwoObjectsAfterAFalseAlarm) {
  const Box object{0, 0, 10, 10}, other{20, 20, 30, 30}, nothing{50, 50, 60, 60};
  MeanAp meter(1);
  meter.add({{object, 0, false}, {other, 0, false}}, {{nothing, 0, 0.9}, {object, 0, 0.8}});
  // Recall reaches 1/2 at precision 1/2, and no further.
  EXPECT_DOUBLE_EQ(meter.value().area, 0.25);
  EXPECT_DOUBLE_EQ(meter.value().eleven, 6 * 0.5 / 11);  // at 0, 0.1 ... 0.5
}

TEST(MeanAp, TheLimitItselfIsAHit) {
  MeanAp meter(1);
  meter.add({{{0, 0, 10, 10}, 0, false}}, {{{0, 0, 10, 5}, 0, 0.5}});  // IoU exactly 1/2
  EXPECT_DOUBLE_EQ(meter.value().area, 1.0);
}

TEST(MeanAp, NothingToFindIsNotANumber) {
  MeanAp meter(2);
  meter.add({}, {{{0, 0, 1, 1}, 0, 0.5}});
  EXPECT_TRUE(std::isnan(meter.value().area));
}

TEST(Nms, KeepsTheFirstOfEqualsAndAtMostSoMany) {
  const Box a{0, 0, 10, 10}, b{100, 0, 110, 10}, c{200, 0, 210, 10};
  const std::vector<ScoredBox> boxes{
      {a, 0, 0.5}, {a, 0, 0.5}, {b, 0, 0.9}, {c, 0, 0.1}, {a, 1, 0.4}};
  EXPECT_EQ(nms(boxes, 0.5), (std::vector<size_t>{2, 0, 4, 3}));
  EXPECT_EQ(nms(boxes, 0.5, 2), (std::vector<size_t>{2, 0}));
}

}  // namespace
}  // namespace adagp::metrics
