#pragma once
// What chance decides for one example: a pure function of (seed, epoch, index).

#include <cstdint>

#include "adagp/base/core/rng.h"
#include "adagp/engine/data/image/augment.h"

namespace adagp::data {

struct Draw {
  int64_t down = 0, right = 0;  // where the window lies in the unpadded image, -pad .. pad
  bool flip = false;
};

core::Rng example_rng(uint64_t seed, int64_t epoch, int64_t index);
Draw draw_pad_crop(core::Rng& rng, const AugmentOptions& options);
// The source rows and columns of one example's window; the image's borders are mirrors.
void fill_window(const Draw& draw, int64_t height, int64_t width, int64_t* rows, int64_t* columns);
// The pixels of a row in the other order.
void mirror_row(uint8_t* rgb, int64_t pixels);

}  // namespace adagp::data
