#pragma once
// Data sets to files, in the formats that open() reads.

#include <string>

#include "adagp/engine/data/sets/dataset.h"

namespace adagp::data {

// Throws UsageError when there is a file at `dir`, or a folder with something in it: two data sets
// in one folder would be read as one. All but write_packed() ask it.
void refuse_filled(const std::string& dir);

// dir/train/CLASS/00001.png and dir/test/CLASS/00001.png. Throws DataError for a class whose name
// leads out of the folder.
void write_folder(const Splits& splits, const std::string& dir);

// data_batch_1..5.bin, test_batch.bin and batches.meta.txt. Throws UsageError unless the images are
// 32x32 in at most ten classes.
void write_cifar10(const Splits& splits, const std::string& dir);

// One safetensors file with both halves, see packed.h. Images of another size than the splits' are
// resized and centre-cropped as for the test.
void write_packed(const Splits& splits, const std::string& path);

}  // namespace adagp::data
