#pragma once
// Pictures with boxes: data sets, and batches of them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/base/core/box.h"
#include "adagp/engine/data/image/letterbox.h"
#include "adagp/engine/data/stream/batch.h"

namespace adagp::data {

class DetectionSet {
 public:
  virtual ~DetectionSet() = default;
  virtual int64_t size() const = 0;
  // u8 [H, W, 3]; may decode a file (thread-safe).
  virtual at::Tensor image(int64_t index) const = 0;
  // In pixels of the image, those marked difficult too.
  virtual const std::vector<core::LabelledBox>& objects(int64_t index) const = 0;
};

// The most objects of a picture: those marked difficult, or the others, which alone are taught.
int64_t most_objects(const DetectionSet& set, bool difficult = false);

struct DetectionSplits {
  std::shared_ptr<const DetectionSet> train, test;
  std::vector<std::string> classes;
  std::vector<double> mean, std;  // three numbers each, in 0..1
  int64_t size = 416;             // side of what the network sees
};

struct DetectionOptions {
  int64_t batch = 16;
  bool training = true;  // shuffled, whole batches only, jittered; else in turn, letterboxed
  uint64_t seed = 0;
  int64_t workers = 1;
  std::function<bool(int64_t epoch, int64_t position)> skips;  // see StreamOptions
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;  // of the images
  int64_t size = 416;                 // side of the canvas
  int64_t most = 1;                   // objects of a picture; further ones are left out
  int64_t most_difficult = 0;         // objects marked as difficult; not in training
  BoxJitter jitter;
  std::vector<double> mean, std;
};

// {images [B, 3, size, size]}, {boxes [B, most, 5]: class, centre x and y, width and height in
// shares of the canvas; class -1: none}, when not training followed by the objects marked difficult
// in the same form. A picture's placement is a pure function of (seed, epoch,
// index).
std::unique_ptr<BatchSource> detection_batches(std::shared_ptr<const DetectionSet> set,
                                               const DetectionOptions& options);

}  // namespace adagp::data
