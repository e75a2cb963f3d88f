#pragma once
// The embedded data set: ten classes of shapes and textures, drawn from a seed. No torch here.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/config/data_options.h"

namespace adagp::data {

struct Splits;

struct SyntheticOptions {
  int64_t size = 32;     // at least 8
  uint64_t seed = 1234;  // which world
  double noise = 1.0;    // difficulty: 0 is clean, 1 leaves a small network at about 85 %
};

const std::vector<std::string>& synthetic_classes();

// Draws image `index` of the training or the test half into `rgb` (size x size x 3) and returns its
// label, index modulo 10. A pure function of its arguments; the two halves share no draw.
int64_t draw_synthetic(const SyntheticOptions& options, bool test, int64_t index, uint8_t* rgb);

Splits open_synthetic(const Config& config);

}  // namespace adagp::data
