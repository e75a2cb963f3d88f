#pragma once
// A picture of any shape on a square canvas, with its boxes. No torch here.

#include <cstdint>
#include <optional>

#include "adagp/base/core/box.h"
#include "adagp/base/core/rng.h"
#include "adagp/engine/data/image/resize.h"

namespace adagp::data {

// How far a training picture may differ from the plain letterbox.
struct BoxJitter {
  double scale = 0.25;  // enlarged by a factor between 1 / (1 + scale) and 1 + scale
  double shift = 0.1;   // moved by up to this share of the canvas each way
  bool flip = true;     // mirrored every other time
};

// Where the picture lies on the canvas: resized to height x width, its corner at (top, left), then
// mirrored with the canvas.
struct Placement {
  int64_t size = 0;                         // side of the canvas
  int64_t from_height = 0, from_width = 0;  // of the picture
  int64_t height = 0, width = 0;
  int64_t top = 0, left = 0;  // negative: cut off there
  bool flip = false;
};

// As large as fits, in the middle.
Placement letterbox(int64_t height, int64_t width, int64_t size);
Placement jittered(int64_t height, int64_t width, int64_t size, const BoxJitter& jitter,
                   core::Rng& rng);

// The canvas, size x size x 3 packed bytes; grey where the picture is not.
void draw(const PixelView& picture, const Placement& placement, uint8_t* canvas);

// The box in pixels of the canvas, cut off at its borders; none when less than a quarter of its
// area is left, which would teach a class by a corner of it.
std::optional<core::Box> on_canvas(const core::Box& box, const Placement& placement);

}  // namespace adagp::data
