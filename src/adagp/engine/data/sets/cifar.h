#pragma once
// CIFAR-10 and CIFAR-100 in their original binary format: records of one label byte (CIFAR-100:
// two, coarse and fine) and 3 x 32 x 32 bytes. No torch here.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adagp/base/config/data_options.h"

namespace adagp::data {

struct Splits;

constexpr int64_t kCifarSide = 32;
constexpr int64_t kCifarPixels = 3 * kCifarSide * kCifarSide;

struct CifarRecords {
  std::vector<uint8_t> pixels;  // [N, 3, 32, 32]
  std::vector<int64_t> labels;  // the fine one of two
};

// `name` is for messages ("cifar10: data_batch_3.bin"). Throws DataError when the bytes are not
// whole records, not `records` of them (0 = any number), or a label is out of range. Never reads
// outside `bytes`.
CifarRecords parse_cifar(std::string_view bytes, const std::string& name, int label_bytes,
                         int64_t records = 0);

// config.dir: the folder of the files, or its parent. Small sets in the same format are read too.
Splits open_cifar10(const Config& config);
Splits open_cifar100(const Config& config);

}  // namespace adagp::data
