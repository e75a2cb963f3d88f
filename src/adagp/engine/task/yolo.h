#pragma once
// From YOLO-v3's maps to boxes, and the loss that teaches it (Redmon and Farhadi 2018).

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/engine/metrics/nms.h"
#include "adagp/engine/models/model.h"

namespace adagp::task {

struct YoloOptions {
  std::vector<double> anchors;  // 18: width and height of nine, in pixels, three per scale
  int64_t size = 416;           // side of the images
  int64_t classes = 20;
  double ignore = 0.5;  // empty cells whose box overlaps an object by more are not told so
};

// The published anchors, made for 416 pixels, for images of this side.
std::vector<double> published_anchors(int64_t size);

// A cell of a map predicts, for each of its anchors, (tx, ty, tw, th, objectness, classes...):
//   centre = (sigmoid(t) + cell) * stride, width and height = anchor * exp(t).
// Maps come in the order of their strides 8, 16, 32, with three anchors each, smallest first.
// Below, all predictions of an image are one axis of length N: by scale, row, column, anchor.
class Yolo {
 public:
  // Throws UsageError for anchors that are not 18 positive numbers.
  explicit Yolo(YoloOptions options);

  // {[B, 3 * (5 + classes), H, W] x 3} -> float [B, N, 5 + classes].
  at::Tensor flatten(const models::Tensors& maps) const;

  // Which prediction answers for each object: the one in the cell of its centre whose anchor, among
  // all nine, has most nearly its shape.
  struct Responsible {
    at::Tensor index;          // int64 [B, most], 0 where there is no object
    at::Tensor valid;          // bool [B, most]
    at::Tensor x, y;           // where in its cell the centre lies, 0 .. 1
    at::Tensor width, height;  // logarithms of the size relative to the anchor; 0 without object
  };
  // `objects` [B, most, 5] as in data/stream/batch.h.
  Responsible responsible(const at::Tensor& objects, const models::Tensors& maps) const;

  // Per image, the sum of
  //   binary cross-entropy of centre (by the sigmoid) and squares / 2 of the size (by the
  //   logarithm), both times 2 - area of the object, and of every class, where responsible;
  //   binary cross-entropy of objectness, except where an overlap above `ignore` excuses it.
  // The mean over the images. Shapes are fixed and nothing is asked of the device: it can be
  // recorded.
  at::Tensor loss(const models::Tensors& maps, const at::Tensor& objects) const;

  // Per object: does the responsible prediction say its class, does it see an object (> 1/2), and
  // how many objects there are; double [3] on the device.
  at::Tensor hits(const models::Tensors& maps, const at::Tensor& objects) const;

  // The surest answers of each image (objectness times class probability over `least`, at most
  // `most`), in pixels of the image, before suppression.
  std::vector<std::vector<metrics::ScoredBox>> answers(const models::Tensors& maps, double least,
                                                       int64_t most) const;

 private:
  // Constants of one set of map sizes on one device.
  struct Grid {
    at::Tensor column, row, stride, width, height;  // float [N]: cell, and the anchor in pixels
    // float [9], by anchor: size, stride, cells in a row and a column, first index of its scale,
    // place among the scale's three.
    at::Tensor anchor_width, anchor_height, anchor_stride, columns, rows, first, place;
  };
  const Grid& grid(const models::Tensors& maps) const;
  // Left, top, right, bottom in pixels, [B, N] each.
  std::array<at::Tensor, 4> boxes(const at::Tensor& flat, const Grid& grid) const;
  // Whether a prediction overlaps some object by more than `ignore`; bool [B, N].
  at::Tensor excused(const at::Tensor& flat, const Grid& grid, const at::Tensor& objects) const;

  YoloOptions options_;
  // Made on first use, so that a step that is recorded finds them.
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<const Grid>> grids_;
};

}  // namespace adagp::task
