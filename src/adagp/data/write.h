#pragma once
// Data sets to files, in the formats that open() reads.

#include <string>

#include "adagp/data/dataset.h"

namespace adagp::data {

// dir/train/CLASS/00001.png and dir/test/CLASS/00001.png.
void write_folder(const Splits& splits, const std::string& dir);

// data_batch_1..5.bin, test_batch.bin and batches.meta.txt. Throws UsageError unless the images are
// 32x32 in at most ten classes.
void write_cifar10(const Splits& splits, const std::string& dir);

// One safetensors file with both halves, see packed.h. Images of another size than the splits' are
// resized and centre-cropped as for the test.
void write_packed(const Splits& splits, const std::string& path);

}  // namespace adagp::data
