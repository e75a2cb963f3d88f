#pragma once
// TensorBoard event files: TFRecord framing with masked crc32c around hand-encoded protobuf.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "adagp/base/core/files.h"

namespace adagp::io {

// Appends scalars and histograms; readable by `tensorboard --logdir`. A new writer in a folder that
// already has event files starts a new file and tells TensorBoard to drop the points after
// `keep_until_step` (a resumed run writes them again).
class EventWriter {
 public:
  explicit EventWriter(const core::fs::path& folder, int64_t keep_until_step = 0);
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  void scalar(const std::string& tag, double value, int64_t step);
  // Values that are not finite are left out; without any other nothing is written.
  void histogram(const std::string& tag, const std::vector<double>& values, int64_t step);
  void flush();

 private:
  void record(std::string_view event);
  std::FILE* file_ = nullptr;
  core::fs::path path_;
};

}  // namespace adagp::io
