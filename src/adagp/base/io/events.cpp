#include "adagp/base/io/events.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/wire.h"

namespace adagp::io {
namespace {

using core::cat;

// Field numbers of tensorflow's event.proto and summary.proto.
constexpr uint32_t kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5,
                   kEventSessionLog = 7;
constexpr uint32_t kSessionStatus = 1, kSessionStart = 1;
constexpr uint32_t kSummaryValue = 1, kValueTag = 1, kValueSimple = 2, kValueHistogram = 5;
constexpr uint32_t kHistogramMin = 1, kHistogramMax = 2, kHistogramCount = 3, kHistogramSum = 4,
                   kHistogramSumSquares = 5, kHistogramLimits = 6, kHistogramBuckets = 7;

constexpr const char* kEventPrefix = "events.out.tfevents.";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard reads a folder's files in the order of their names, so a later file must sort later
// even within one second or after the clock was set back. 0 when the folder has none.
long long newest_event_time(const core::fs::path& folder) {
  long long newest = 0;
  for (const auto& item : core::fs::directory_iterator(folder)) {
    const std::string name = item.path().filename().string();
    if (!name.starts_with(kEventPrefix)) continue;
    long long time = 0;
    const std::string rest = name.substr(std::string_view(kEventPrefix).size());
    core::parse_integer(core::trim(rest.substr(0, rest.find('.'))), time);
    newest = std::max({newest, time, 1LL});
  }
  return newest;
}

std::string event_file_name(long long time) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = 'x';
  std::string digits = std::to_string(time);
  if (digits.size() < 10) digits.insert(0, 10 - digits.size(), '0');
  return cat(kEventPrefix, digits, ".", host.data(), ".", getpid(), ".0");
}

WireWriter event_at(int64_t step) {
  WireWriter event;
  event.number(kEventWallTime, seconds_now());
  event.varint(kEventStep, static_cast<uint64_t>(step));
  return event;
}

std::string event_with_value(const WireWriter& value, int64_t step) {
  WireWriter summary;
  summary.bytes(kSummaryValue, value.str());
  WireWriter event = event_at(step);
  event.bytes(kEventSummary, summary.str());
  return event.str();
}

// Right edges that grow by a tenth from 1e-12 on, either side of zero: gradients span many decades.
const std::vector<double>& histogram_edges() {
  static const std::vector<double> edges = [] {
    std::vector<double> positive;
    for (double edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push_back(edge);
    std::vector<double> all(positive.rbegin(), positive.rend());
    for (double& edge : all) edge = -edge;
    all.push_back(0.0);
    all.insert(all.end(), positive.begin(), positive.end());
    all.push_back(std::numeric_limits<double>::max());
    return all;
  }();
  return edges;
}

std::string histogram_message(const std::vector<double>& values) {
  const auto& edges = histogram_edges();
  std::vector<double> counts(edges.size());
  double low = values[0], high = values[0], sum = 0, squares = 0;
  for (const double v : values) {
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
    squares += v * v;
    const auto edge = std::upper_bound(edges.begin(), edges.end() - 1, v);
    counts[static_cast<size_t>(edge - edges.begin())] += 1;
  }
  WireWriter limits, buckets;  // a run of empty buckets becomes one; none at either end
  const auto filled = [](double count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), filled) - counts.begin();
  const auto last = std::find_if(counts.rbegin(), counts.rend(), filled).base() - counts.begin();
  for (auto i = first; i < last; ++i) {
    if (counts[i] == 0 && counts[i + 1] == 0) continue;
    limits.append(edges[i]);
    buckets.append(counts[i]);
  }
  WireWriter out;
  out.number(kHistogramMin, low);
  out.number(kHistogramMax, high);
  out.number(kHistogramCount, static_cast<double>(values.size()));
  out.number(kHistogramSum, sum);
  out.number(kHistogramSumSquares, squares);
  out.bytes(kHistogramLimits, limits.str());
  out.bytes(kHistogramBuckets, buckets.str());
  return out.str();
}

}  // namespace

EventWriter::EventWriter(const core::fs::path& folder, int64_t keep_until_step) {
  core::make_folder(folder);
  const long long newest = newest_event_time(folder);
  path_ = folder / event_file_name(std::max(static_cast<long long>(seconds_now()), newest + 1));
  file_ = std::fopen(path_.c_str(), "wbxe");
  if (file_ == nullptr) {
    throw Error(cat(path_.string(), ": cannot be created: ", std::strerror(errno)));
  }
  WireWriter version;
  version.number(kEventWallTime, seconds_now());
  version.bytes(kEventFileVersion, "brain.Event:2");
  record(version.str());
  if (newest > 0) {
    WireWriter session;
    session.varint(kSessionStatus, kSessionStart);
    WireWriter event = event_at(keep_until_step + 1);  // TensorBoard drops this step and later ones
    event.bytes(kEventSessionLog, session.str());
    record(event.str());
  }
  flush();
}

EventWriter::~EventWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

void EventWriter::scalar(const std::string& tag, double value, int64_t step) {
  WireWriter message;
  message.bytes(kValueTag, tag);
  message.number(kValueSimple, static_cast<float>(value));
  record(event_with_value(message, step));
}

void EventWriter::histogram(const std::string& tag, const std::vector<double>& values,
                            int64_t step) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double v) { return std::isfinite(v); });
  if (finite.empty()) return;
  WireWriter message;
  message.bytes(kValueTag, tag);
  message.bytes(kValueHistogram, histogram_message(finite));
  record(event_with_value(message, step));
}

void EventWriter::record(std::string_view event) {
  WireWriter frame;
  frame.append(static_cast<uint64_t>(event.size()));
  frame.append(masked_crc32c(frame.str()));
  std::string bytes = frame.str();
  bytes.append(event);
  const uint32_t crc = masked_crc32c(event);
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    throw Error(cat(path_.string(), ": writing failed: ", std::strerror(errno)));
  }
}

void EventWriter::flush() {
  if (std::fflush(file_) != 0) {
    throw Error(cat(path_.string(), ": writing failed: ", std::strerror(errno)));
  }
}

}  // namespace adagp::io
