#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/cifar.h"

namespace adagp::data {
namespace {

constexpr int64_t kUsualRecords = 10000;

void check_cifar_size(int64_t size, const std::string& name, int64_t record, int64_t records) {
  if (records > 0 ? size == records * record : size > 0 && size % record == 0) return;
  if (records == 0 && size < kUsualRecords * record / 2) {
    // Nowhere near a published file: a small set in the same format.
    throw DataError(core::cat("data: ", name, ": ", core::grouped(size),
                              " bytes, expected whole records of ", core::grouped(record),
                              ": the file is cut short; make or download it again"));
  }
  if (records == 0) records = std::max(kUsualRecords, (size + record - 1) / record);
  const int64_t expected = records * record;
  throw DataError(core::cat("data: ", name, ": ", core::grouped(size), " bytes, expected ",
                            core::grouped(expected), " (", core::grouped(records), " records of ",
                            core::grouped(record), "): ",
                            size < expected ? "the file is cut short; download it again"
                                            : "the file is too long; download it again"));
}

}  // namespace

CifarRecords parse_cifar(std::string_view bytes, const std::string& name, int label_bytes,
                         int64_t records) {
  if (label_bytes != 1 && label_bytes != 2) {
    throw Error(core::cat("cifar: ", label_bytes, " label bytes, expected 1 or 2"));
  }
  const int64_t record = label_bytes + kCifarPixels;
  check_cifar_size(static_cast<int64_t>(bytes.size()), name, record, records);

  const int64_t count = static_cast<int64_t>(bytes.size()) / record;
  const int classes = label_bytes == 1 ? 10 : 100;
  CifarRecords result;
  result.pixels.resize(static_cast<size_t>(count * kCifarPixels));
  result.labels.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view r =
        bytes.substr(static_cast<size_t>(i * record), static_cast<size_t>(record));
    const auto label = static_cast<uint8_t>(r[static_cast<size_t>(label_bytes) - 1]);
    if (label >= classes) {
      throw DataError(core::cat("data: ", name, ": record ", core::grouped(i), " has label ",
                                int{label}, ", expected 0 to ", classes - 1,
                                ": the file is damaged or of another data set; download it again"));
    }
    result.labels.push_back(label);
    std::copy(r.begin() + label_bytes, r.end(), result.pixels.begin() + i * kCifarPixels);
  }
  return result;
}

}  // namespace adagp::data
