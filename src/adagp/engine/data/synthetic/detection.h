#pragma once
// The embedded data set of the detection task: a few shapes in each picture, drawn from a seed.
// No torch here.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/config/data_options.h"
#include "adagp/base/core/box.h"
#include "adagp/engine/data/synthetic/images.h"

namespace adagp::data {

struct DetectionSplits;

const std::vector<std::string>& synthetic_detection_classes();

// Draws picture `index` of the training or the test half into `rgb` (size x size x 3) and returns
// its one to five objects. Boxes are whole pixels, drawn tightly. A pure function of its arguments.
std::vector<core::LabelledBox> draw_synthetic_detection(const SyntheticOptions& options, bool test,
                                                        int64_t index, uint8_t* rgb);

// The pictures have the size that the network sees: data.image_size, or 128.
DetectionSplits open_synthetic_detection(const Config& config);

}  // namespace adagp::data
