#include "adagp/base/core/error.h"

#include <cstring>

#include "adagp/base/core/text.h"
#include "adagp/base/io/events.h"
#include "adagp/base/io/wire.h"

namespace adagp::io {
namespace {

constexpr size_t kFrameHead = 12, kFrameTail = 4;  // length and its crc; the data's crc

template <typename T>
T number_at(std::string_view bytes, size_t offset) {
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof out);
  return out;
}

// Appends the simple values of a Summary message. False when it does not parse.
bool read_summary(std::string_view message, std::vector<ScalarEvent>& out) {
  WireReader summary(message);
  while (summary.next()) {
    if (summary.field != 1 || summary.type != Wire::kBytes) continue;
    ScalarEvent scalar;
    bool simple = false;
    WireReader value(summary.bytes);
    while (value.next()) {
      if (value.field == 1 && value.type == Wire::kBytes) scalar.tag = value.bytes;
      if (value.field == 2 && value.type == Wire::kFixed32) {
        scalar.value = std::bit_cast<float>(static_cast<uint32_t>(value.value));
        simple = true;
      }
    }
    if (!value.ok()) return false;
    if (simple) out.push_back(std::move(scalar));
  }
  return summary.ok();
}

bool read_event(std::string_view message, std::vector<ScalarEvent>& out) {
  const size_t first = out.size();
  int64_t step = 0;
  WireReader event(message);
  while (event.next()) {
    if (event.field == 2 && event.type == Wire::kVarint) step = static_cast<int64_t>(event.value);
    if (event.field == 5 && event.type == Wire::kBytes && !read_summary(event.bytes, out)) {
      return false;
    }
  }
  for (size_t i = first; i < out.size(); ++i) out[i].step = step;
  return event.ok();
}

}  // namespace

std::vector<ScalarEvent> read_scalars(std::string_view bytes, const std::string& name) {
  std::vector<ScalarEvent> out;
  for (size_t at = 0; at < bytes.size();) {
    const auto fail = [&](const char* why) {
      throw DataError(core::cat(name, ": byte ", at, ": ", why));
    };
    const size_t left = bytes.size() - at;
    if (left < kFrameHead) fail("the record is cut off");
    const auto length = number_at<uint64_t>(bytes, at);
    if (masked_crc32c(bytes.substr(at, 8)) != number_at<uint32_t>(bytes, at + 8)) {
      fail("the checksum of the record's length is wrong: not an event file, or damaged");
    }
    if (left - kFrameHead < kFrameTail || length > left - kFrameHead - kFrameTail) {
      fail("the record is cut off");
    }
    const std::string_view event = bytes.substr(at + kFrameHead, length);
    if (masked_crc32c(event) != number_at<uint32_t>(bytes, at + kFrameHead + length)) {
      fail("the checksum of the record is wrong: the file is damaged");
    }
    if (!read_event(event, out)) fail("the record is not an event");
    at += kFrameHead + length + kFrameTail;
  }
  return out;
}

}  // namespace adagp::io
