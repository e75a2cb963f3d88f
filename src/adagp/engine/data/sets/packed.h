#pragma once
// A data set as safetensors: `images` u8 [N, 3, H, W], `labels` int64 [N], and the class names as a
// JSON array in the metadata entry "classes" (optional).
//
// config.dir is either one file that holds `test_images` and `test_labels` too, or a folder with
// train.safetensors and test.safetensors. A file with images and labels alone serves as both
// halves, with a warning.

#include <string>

#include "adagp/base/config/data_options.h"

namespace adagp::data {

struct Splits;

Splits open_packed(const Config& config);

}  // namespace adagp::data
