#pragma once
// Antialiased bilinear resizing of RGB pixels, on the calling thread alone: the loader's workers
// already run one image each. No torch here.

#include <cstdint>

namespace adagp::data {

// An image of which only a part may be in memory: `rgb` is its pixel at (top, left).
struct PixelView {
  const uint8_t* rgb = nullptr;
  int64_t height = 0, width = 0;  // of the image
  int64_t stride = 0;             // bytes from a row to the next
  int64_t top = 0, left = 0;
};

// Resizes `source` to full_height x full_width, of which only the window of height x width pixels
// at (top, left) is made and written to `out`, packed. Weights are a triangle that widens with the
// reduction, clamped at the borders, as in torchvision's antialias = True.
struct ResizePlan {
  int64_t full_height = 0, full_width = 0;
  int64_t top = 0, left = 0;
  int64_t height = 0, width = 0;
  bool mirrored = false;  // the window's columns in the other order
};
void resize(const PixelView& source, const ResizePlan& plan, uint8_t* out);
// Of `size` positions that become full_out, the ones that `count` of these from `begin` on need.
struct Span {
  int64_t begin = 0, end = 0;
};
Span needed(double from, double length, int64_t size, int64_t full_out, int64_t begin,
            int64_t count);

// Takes the part of `source` inside `box` for the source. Its edges need not lie between two
// pixels; no pixel outside it is used.
struct SourceBox {
  double top = 0, left = 0, height = 0, width = 0;
};
void resize(const PixelView& source, const SourceBox& box, const ResizePlan& plan, uint8_t* out);

}  // namespace adagp::data
