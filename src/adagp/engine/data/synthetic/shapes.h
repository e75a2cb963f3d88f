#pragma once
// Figures that the generated data sets draw, and the chance they are drawn by. No torch here.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "adagp/base/core/rng.h"

namespace adagp::data::shapes {

using Colour = std::array<float, 3>;

constexpr float kPi = std::numbers::pi_v<float>;

enum Kind { kDisc, kRing, kSquare, kTriangle, kCross, kFlat, kUpright, kSlanted, kChecker, kSpots };

inline float between(core::Rng& rng, double low, double high) {
  return static_cast<float>(rng.uniform(low, high));
}

inline Colour random_colour(core::Rng& rng) {
  return {between(rng, 0, 1), between(rng, 0, 1), between(rng, 0, 1)};
}

inline float box(float u, float v, float half_u, float half_v) {
  return std::max(std::abs(u) - half_u, std::abs(v) - half_v);
}

// One drawn object. Its own coordinates (u, v) span about -1..1; `edge` is a pixel's width in them.
struct Figure {
  int64_t kind = kDisc;
  float x = 0, y = 0, radius = 1, cosine = 1, sine = 0, edge = 0.1F;
  float cycles = 3, phase = 0;  // textures
  bool round = false;           // the outline of a texture: disc or square
  std::array<std::array<float, 2>, 5> spots{};

  // 0 outside, 1 inside, between the two along an edge.
  float cover(float distance) const { return std::clamp(0.5F - distance / edge, 0.0F, 1.0F); }
  float wave(float t) const {
    const float slope = 1.0F / (edge * cycles * 2.0F);
    return std::clamp(0.5F + slope * std::sin(kPi * cycles * t + phase), 0.0F, 1.0F);
  }

  float at(float px, float py) const {
    const float dx = (px - x) / radius, dy = (py - y) / radius;
    if (std::max(std::abs(dx), std::abs(dy)) > 1.6F) return 0.0F;
    const float u = cosine * dx + sine * dy, v = cosine * dy - sine * dx;
    switch (kind) {
      case kDisc:
        return cover(std::hypot(u, v) - 0.9F);
      case kRing:
        return cover(std::abs(std::hypot(u, v) - 0.72F) - 0.24F);
      case kSquare:
        return cover(box(u, v, 0.8F, 0.8F));
      case kTriangle: {
        const float slanted = 0.866F * std::abs(u) - 0.5F * v;
        return cover(std::max(slanted, v) - 0.5F);
      }
      case kCross:
        return cover(std::min(box(u, v, 0.95F, 0.3F), box(u, v, 0.3F, 0.95F)));
      default:
        return texture(u, v);
    }
  }

  float texture(float u, float v) const {
    if (kind == kSpots) {
      float nearest = 9.0F;
      for (const auto& spot : spots) {
        nearest = std::min(nearest, std::hypot(u - spot[0], v - spot[1]));
      }
      return cover(nearest - 0.28F);
    }
    const float outline = cover(round ? std::hypot(u, v) - 1.0F : box(u, v, 0.9F, 0.9F));
    if (outline == 0.0F) return 0.0F;
    switch (kind) {
      case kFlat:
        return outline * wave(v);
      case kUpright:
        return outline * wave(u);
      case kSlanted:
        return outline * wave((u + v) * 0.707F);
      default: {
        const float a = wave(u), b = wave(v);
        return outline * (a * b + (1 - a) * (1 - b));
      }
    }
  }
};

// Two colours that differ by `contrast` in the mean over the channels.
inline std::array<Colour, 2> random_pair(core::Rng& rng, double contrast) {
  Colour ground = random_colour(rng), figure = random_colour(rng);
  for (auto& value : ground) value = 0.15F + 0.7F * value;
  float lift = 0;
  for (size_t c = 0; c < 3; ++c) lift += (figure[c] - ground[c]) / 3;
  const float mean = (ground[0] + ground[1] + ground[2]) / 3;
  const auto wanted = static_cast<float>(mean < 0.5F ? contrast : -contrast);
  for (auto& value : figure) value += wanted - lift;
  return {ground, figure};
}

// Nearly normal (a sum of four uniforms), mean 0, variance 1: one draw of the generator a value.
inline float cheap_normal(core::Rng& rng) {
  const uint64_t bits = rng.next();
  const auto sum = static_cast<float>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                      ((bits >> 32) & 0xffff) + (bits >> 48));
  return (sum - 131070.0F) * (1.7320508F / 65536.0F);
}

// Figures on a ground whose colour changes evenly over the picture, the first one behind.
struct Scene {
  struct Layer {
    Figure figure;
    Colour colour{};
  };
  Colour ground{};
  float slope_x = 0, slope_y = 0;
  float sigma = 0;  // of the noise
  std::vector<Layer> layers = {};

  void draw(core::Rng& rng, int64_t size, uint8_t* rgb) const {
    const float step = 2.0F / static_cast<float>(size);
    for (int64_t row = 0; row < size; ++row) {
      for (int64_t column = 0; column < size; ++column) {
        const float x = (static_cast<float>(column) + 0.5F) * step - 1.0F;
        const float y = (static_cast<float>(row) + 0.5F) * step - 1.0F;
        Colour colour = ground;
        for (auto& value : colour) value += slope_x * x + slope_y * y;
        for (const Layer& layer : layers) {
          const float cover = layer.figure.at(x, y);
          if (cover == 0.0F) continue;
          for (size_t c = 0; c < 3; ++c) colour[c] += cover * (layer.colour[c] - colour[c]);
        }
        for (const float value : colour) {
          const float noisy = value + sigma * cheap_normal(rng);
          *rgb++ = static_cast<uint8_t>(std::clamp(noisy, 0.0F, 1.0F) * 255.0F + 0.5F);
        }
      }
    }
  }
};

}  // namespace adagp::data::shapes
