#include <algorithm>
#include <cmath>

#include "adagp/base/core/rng.h"
#include "adagp/engine/data/synthetic/detection.h"
#include "adagp/engine/data/synthetic/shapes.h"

namespace adagp::data {
namespace {

constexpr int64_t kShapeClasses = 5;  // the figures without texture
constexpr int64_t kMostObjects = 5;

// The pixels that the figure covers by more than half.
core::Box tight_box(const shapes::Figure& figure, int64_t size) {
  const float step = 2.0F / static_cast<float>(size);
  int64_t left = size, top = size, right = 0, bottom = 0;
  for (int64_t row = 0; row < size; ++row) {
    const float y = (static_cast<float>(row) + 0.5F) * step - 1.0F;
    if (std::abs(y - figure.y) > 1.6F * figure.radius) continue;
    for (int64_t column = 0; column < size; ++column) {
      const float x = (static_cast<float>(column) + 0.5F) * step - 1.0F;
      if (figure.at(x, y) <= 0.5F) continue;
      left = std::min(left, column);
      right = std::max(right, column + 1);
      top = std::min(top, row);
      bottom = std::max(bottom, row + 1);
    }
  }
  return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(right),
          static_cast<double>(bottom)};
}

shapes::Figure random_shape(core::Rng& rng, int64_t kind, int64_t size) {
  using shapes::between;
  shapes::Figure f;
  f.kind = kind;
  // At least 12 pixels across, so that a class can be told from another.
  const double least = std::max(0.14, 12.0 / static_cast<double>(size));
  f.radius = between(rng, least, std::max(0.45, least));
  const double reach = 1.0 - 1.14 * f.radius;  // the corners of a square reach that far
  f.x = between(rng, -reach, reach);
  f.y = between(rng, -reach, reach);
  f.edge = 2.0F / (static_cast<float>(size) * f.radius);
  const float angle = between(rng, 0, 2 * std::numbers::pi);
  f.cosine = std::cos(angle);
  f.sine = std::sin(angle);
  return f;
}

bool crowds(const shapes::Figure& a, const shapes::Figure& b) {
  return std::hypot(a.x - b.x, a.y - b.y) < 0.9F * (a.radius + b.radius);
}

}  // namespace

const std::vector<std::string>& synthetic_detection_classes() {
  static const std::vector<std::string> kNames(synthetic_classes().begin(),
                                               synthetic_classes().begin() + kShapeClasses);
  return kNames;
}

std::vector<core::LabelledBox> draw_synthetic_detection(const SyntheticOptions& options, bool test,
                                                        int64_t index, uint8_t* rgb) {
  core::Rng rng(core::mix({options.seed, test ? 4U : 3U, static_cast<uint64_t>(index)}));
  const int64_t size = options.size;
  const double noise = options.noise;
  const auto [ground, unused] = shapes::random_pair(rng, 0.3);
  shapes::Scene scene{ground};
  scene.slope_x = shapes::between(rng, -0.2, 0.2);
  scene.slope_y = shapes::between(rng, -0.2, 0.2);
  scene.sigma = static_cast<float>(noise * rng.uniform(0.02, 0.12));

  auto& placed = scene.layers;
  const int64_t wanted = 1 + rng.below(kMostObjects);
  for (int64_t tries = 0; tries < 8 * wanted && std::ssize(placed) < wanted; ++tries) {
    const shapes::Figure figure = random_shape(rng, rng.below(kShapeClasses), size);
    if (std::any_of(placed.begin(), placed.end(),
                    [&](const auto& other) { return crowds(figure, other.figure); })) {
      continue;
    }
    // Lighter or darker than the ground, by less where there is more noise.
    const float mean = (ground[0] + ground[1] + ground[2]) / 3;
    const double contrast = rng.uniform(0.5 / (1 + noise), 0.6);
    shapes::Colour colour = shapes::random_colour(rng);
    const float lift = mean + static_cast<float>(mean < 0.5F ? contrast : -contrast) -
                       (colour[0] + colour[1] + colour[2]) / 3;
    for (auto& value : colour) value += lift;
    placed.push_back({figure, colour});
  }

  scene.draw(rng, size, rgb);
  std::vector<core::LabelledBox> objects;
  for (const auto& one : placed) {
    objects.push_back({tight_box(one.figure, size), one.figure.kind, false});
  }
  return objects;
}

}  // namespace adagp::data
