#pragma once
// Rectangles around objects in pictures.

#include <algorithm>
#include <cstdint>

namespace adagp::core {

// Edges, not pixel numbers: a box over the pixels 3 and 4 of a row has left 3 and right 5.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double area() const { return std::max(0.0, right - left) * std::max(0.0, bottom - top); }
  friend bool operator==(const Box&, const Box&) = default;
};

struct LabelledBox {
  Box box;
  int64_t label = 0;
  bool difficult = false;  // neither asked for nor held against the one who finds it

  friend bool operator==(const LabelledBox&, const LabelledBox&) = default;
};

// Empty (no area) where the two do not meet.
inline Box intersection(const Box& a, const Box& b) {
  return {std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
          std::min(a.bottom, b.bottom)};
}

// Intersection over union; 0 for two boxes without area.
inline double iou(const Box& a, const Box& b) {
  const double shared = intersection(a, b).area();
  const double all = a.area() + b.area() - shared;
  return all > 0 ? shared / all : 0.0;
}

}  // namespace adagp::core
