#include <algorithm>
#include <cmath>
#include <numbers>

#include "adagp/base/core/rng.h"
#include "adagp/engine/data/synthetic/images.h"
#include "adagp/engine/data/synthetic/shapes.h"

namespace adagp::data {
namespace {

using core::Rng;
using namespace shapes;  // NOLINT(google-build-using-namespace): its own vocabulary

Figure random_figure(Rng& rng, int64_t kind, int64_t size, double noise) {
  Figure f;
  f.kind = kind;
  const bool texture = kind >= kFlat;
  f.radius = between(rng, texture ? 0.48 : 0.34, texture ? 0.72 : 0.66);
  if (size < 16) f.radius *= 1.2F;
  const double reach = std::max(0.0, 1.02 - f.radius);
  f.x = between(rng, -reach, reach);
  f.y = between(rng, -reach, reach);
  f.edge = 2.0F / (static_cast<float>(size) * f.radius);

  const double tilt = 0.4 * std::min(noise, 1.0);  // pi/8 is half-way between flat and slanted
  float angle = between(rng, -tilt, tilt);
  if (kind == kTriangle && rng.below(2) == 1) angle += kPi;
  if (kind == kSlanted && rng.below(2) == 1) angle += kPi / 2;
  f.cosine = std::cos(angle);
  f.sine = std::sin(angle);

  // A cycle needs about two and a half pixels to be seen.
  const double most = f.radius * static_cast<double>(size) / 2.5;
  f.cycles = static_cast<float>(std::min(rng.uniform(2.2, 3.6), std::max(1.2, most)));
  f.phase = between(rng, 0, 2 * std::numbers::pi);
  f.round = rng.below(2) == 1;
  for (auto& spot : f.spots) spot = {between(rng, -0.95, 0.95), between(rng, -0.95, 0.95)};
  return f;
}

// A small bar or dot that belongs to no class.
Figure random_distractor(Rng& rng, int64_t size) {
  Figure f;
  f.kind = rng.below(2) == 0 ? kDisc : kSquare;
  f.radius = between(rng, 0.1, 0.24);
  f.x = between(rng, -1, 1);
  f.y = between(rng, -1, 1);
  f.edge = 2.0F / (static_cast<float>(size) * f.radius);
  const float angle = between(rng, 0, std::numbers::pi);
  f.cosine = std::cos(angle);
  f.sine = std::sin(angle);
  return f;
}

}  // namespace

const std::vector<std::string>& synthetic_classes() {
  static const std::vector<std::string> kNames{
      "disc",         "ring",         "square",          "triangle",
      "cross",        "flat-stripes", "upright-stripes", "slanted-stripes",
      "checkerboard", "spots"};
  return kNames;
}

int64_t draw_synthetic(const SyntheticOptions& options, bool test, int64_t index, uint8_t* rgb) {
  Rng rng(core::mix({options.seed, test ? 2U : 1U, static_cast<uint64_t>(index)}));
  const int64_t label = index % static_cast<int64_t>(synthetic_classes().size());
  const double noise = options.noise;
  const int64_t size = options.size;

  const bool texture = label >= kFlat;
  const double contrast = rng.uniform(0.5 / (1 + 2 * noise), texture ? 0.45 : 0.65);
  const auto [ground, figure] = random_pair(rng, contrast);
  Scene scene{ground};
  scene.slope_x = between(rng, -0.2, 0.2);
  scene.slope_y = between(rng, -0.2, 0.2);
  // Fewer pixels average less noise away: small images get less of it.
  const double grain = std::min(1.0, static_cast<double>(size) / 32.0);
  scene.sigma = static_cast<float>(noise * grain * rng.uniform(0.06, 0.3));

  auto& layers = scene.layers;
  layers.push_back({random_figure(rng, label, size, noise), figure});
  const int64_t distractors = std::llround(noise * rng.uniform(0.5, 3.5));
  for (int64_t i = 0; i < distractors; ++i) {
    layers.push_back({random_distractor(rng, size), random_colour(rng)});
  }
  // The first distractor may hide a part of the object; the rest lie behind it.
  if (layers.size() > 1) std::rotate(layers.begin(), layers.begin() + 1, layers.end());
  if (layers.size() > 2) std::rotate(layers.begin(), layers.begin() + 1, layers.end());
  scene.draw(rng, size, rgb);
  return label;
}

}  // namespace adagp::data
