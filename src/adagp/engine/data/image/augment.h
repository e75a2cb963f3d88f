#pragma once
// What happens to an image between the data set and the network.

#include <cstdint>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/base/io/image/image.h"
#include "adagp/gpu/cuda/data/augment.h"

namespace adagp::data {

// "pad" (reflect-pad, then random crop), "resized" (random area and ratio), "none".
enum class Crop { kPad, kResized, kNone };
Crop parse_crop(const std::string& name);  // throws UsageError with the nearest name

struct AugmentOptions {
  bool train = true;       // false: no randomness
  Crop crop = Crop::kPad;  // train
  int64_t pad = 4;
  bool flip = true;                 // train: mirror half of the images
  int64_t height = 32, width = 32;  // what the network sees
  double resize_ratio =
      0.875;  // test, images of another size: short side to size/ratio, centre crop
  std::vector<double> mean{0.5, 0.5, 0.5}, std{0.25, 0.25, 0.25};
};

// A batch from images that all have the network's size: one gather (reflect-pad crop, flip) and one
// normalisation, on whichever device `images` lives. Each example's draw is a pure function of
// (seed, epoch, index). Returns float [B, 3, H, W], channels-last.
at::Tensor augment_resident(const at::Tensor& images, const std::vector<int64_t>& indices,
                            const AugmentOptions& options, uint64_t seed, int64_t epoch);

// What happens to each example of a batch, in order: the same draws, for the kernel.
std::vector<cuda::Window> windows(const std::vector<int64_t>& indices,
                                  const AugmentOptions& options, uint64_t seed, int64_t epoch);
// slope and offset of the kernel that normalises.
void set_normalisation(const AugmentOptions& options, cuda::AugmentArgs& args);

// The same by ATen's index operations, which run on any device: a GPU without our kernels.
at::Tensor augment_by_index(const at::Tensor& images, const std::vector<int64_t>& indices,
                            const AugmentOptions& options, uint64_t seed, int64_t epoch);

// One image u8 [h, w, 3] of any size -> u8 [height, width, 3], with the same draws. Images of
// another size are first resized and centre-cropped as for the test, in training too; "resized"
// crops are torchvision's (area 8 to 100 %, ratio 3/4 to 4/3).
at::Tensor augment_one(const at::Tensor& image, int64_t index, const AugmentOptions& options,
                       uint64_t seed, int64_t epoch);

// Which example, when.
struct Occasion {
  int64_t index = 0;
  uint64_t seed = 0;
  int64_t epoch = 0;
};
// What has to be decoded of an image: as small as it may be so that what is drawn from it still
// need not be enlarged, and the part of it that is looked at.
io::Wanted wanted(const io::ImageSize& whole, const AugmentOptions& options, const Occasion& when);
// augment_one of what was decoded so, its pixels packed in `rgb`; into `out`.
void augment_partial(const uint8_t* rgb, const io::Decoded& decoded, const AugmentOptions& options,
                     const Occasion& when, uint8_t* out);

// u8 [B, H, W, 3] -> float [B, 3, H, W], channels-last: (x / 255 - mean) / std.
at::Tensor normalise(const at::Tensor& images, const AugmentOptions& options);
// The same of `pixels` in a row, in plain memory.
void normalise_pixels(const uint8_t* in, int64_t pixels, const AugmentOptions& options, float* out);

// Throws UsageError for a negative pad or a padding wider than the image.
void check(const AugmentOptions& options);

}  // namespace adagp::data
