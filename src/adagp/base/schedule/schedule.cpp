#include "adagp/base/schedule/schedule.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::schedule {
namespace {

constexpr const char* kPaper = "10ep bp, 4ep 4:1, 4ep 3:1, 4ep 2:1, 1:1";
// Far above any real run; keeps sums of stretches and cycles inside 64 bits.
constexpr long long kLargest = 1'000'000'000;

[[noreturn]] void reject(const std::string& part, const std::string& text, const std::string& why) {
  throw UsageError(
      "schedule: '" + part + "' in '" + text + "': " + why +
      "; expected stretches such as '10ep bp, 4ep 4:1, 2ep gp, 1:1', or auto, paper, bp");
}

int64_t whole_number(const std::string& digits, long long least, const std::string& part,
                     const std::string& text, const char* what) {
  long long value = 0;
  if (!core::parse_integer(digits, value) || value < least || value > kLargest) {
    reject(part, text,
           core::cat("'", digits, "' is not ", what, " (a whole number of at least ", least, ")"));
  }
  return value;
}

// "bp", "gp" or "k:m" into the last two fields of a stretch.
void parse_ratio(const std::string& ratio, const std::string& part, const std::string& text,
                 Stretch& out) {
  if (ratio == "bp" || ratio == "gp") {
    out.predicted = ratio == "gp" ? 1 : 0;
    out.exact = ratio == "gp" ? 0 : 1;
    return;
  }
  if (ratio == "auto" || ratio == "paper") reject(part, text, "'" + ratio + "' stands alone");
  const auto sides = core::split(ratio, ':');
  if (sides.size() != 2) {
    const auto near = core::closest(ratio, {"auto", "paper", "bp", "gp"});
    reject(part, text,
           "'" + ratio + "' is not bp, gp or a ratio k:m" +
               (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  out.predicted = whole_number(core::trim(sides[0]), 0, part, text, "a number of GP batches");
  out.exact = whole_number(core::trim(sides[1]), 0, part, text, "a number of BP batches");
  if (out.predicted + out.exact == 0) reject(part, text, "a cycle of no batches");
}

Stretch parse_stretch(const std::string& part, const std::string& text, bool last) {
  Stretch out{};
  const auto ep = part.find("ep");
  if (ep == std::string::npos) {
    parse_ratio(part, part, text, out);
    if (!last) reject(part, text, "only the last stretch may leave out its number of epochs");
    return out;
  }
  out.epochs = whole_number(core::trim(part.substr(0, ep)), 1, part, text, "a number of epochs");
  const std::string ratio = core::trim(part.substr(ep + 2));
  if (ratio.empty()) reject(part, text, "bp, gp or a ratio k:m is missing after the epochs");
  parse_ratio(ratio, part, text, out);
  return out;
}

// The paper's proportions for a run of another length. A stretch that would pass the end is left
// out together with those after it, so a short run keeps the order of the long one.
std::vector<Stretch> scaled(int64_t epochs) {
  std::vector<Stretch> out{{std::max<int64_t>(1, epochs / 9), 0, 1}};
  const int64_t each =
      std::max<int64_t>(1, epochs / 45 * 2 + epochs % 45 * 2 / 45);  // 2 * epochs could overflow
  int64_t used = out[0].epochs;
  for (const int64_t predicted : {4, 3, 2}) {
    if (used + each > epochs) break;
    out.push_back({each, predicted, 1});
    used += each;
  }
  out.push_back({0, 1, 1});
  return out;
}

int64_t predicted_in_epoch(const Stretch& stretch, int64_t batches) {
  const int64_t cycle = stretch.predicted + stretch.exact;
  return batches / cycle * stretch.predicted + std::min(batches % cycle, stretch.predicted);
}

}  // namespace

Schedule Schedule::parse(const std::string& text, int64_t epochs) {
  const std::string clean = core::lower(core::trim(text));
  Schedule out;
  if (clean == "auto") {
    out.stretches_ = scaled(epochs);
    return out;
  }
  const auto parts = core::split(clean == "paper" ? kPaper : clean, ',');
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part = core::trim(parts[i]);
    if (part.empty()) reject(part, text, core::cat("stretch ", i + 1, " is empty"));
    out.stretches_.push_back(parse_stretch(part, text, i + 1 == parts.size()));
  }
  return out;
}

const Stretch& Schedule::stretch_at(int64_t epoch) const {
  size_t i = 0;
  for (; i + 1 < stretches_.size() && epoch >= stretches_[i].epochs; ++i) {
    epoch -= stretches_[i].epochs;
  }
  return stretches_[i];
}

bool Schedule::begins_like(const Schedule& other, int64_t epochs) const {
  // Ratios change only where a stretch of one of them begins.
  std::vector<int64_t> begins;
  for (const Schedule* one : {this, &other}) {
    int64_t begin = 0;
    for (const Stretch& stretch : one->stretches_) {
      begins.push_back(begin);
      begin += stretch.epochs;
    }
  }
  return std::all_of(begins.begin(), begins.end(), [&](int64_t epoch) {
    const Stretch &a = stretch_at(epoch), &b = other.stretch_at(epoch);
    return epoch >= epochs || (a.predicted == b.predicted && a.exact == b.exact);
  });
}

Phase Schedule::at(int64_t epoch, int64_t batch) const {
  const Stretch& now = stretch_at(epoch);
  return batch % (now.predicted + now.exact) < now.predicted ? Phase::kPredict : Phase::kBackprop;
}

int64_t Schedule::warm_up_epochs(int64_t epochs) const {
  int64_t out = 0;
  for (size_t i = 0; i < stretches_.size() && stretches_[i].predicted == 0; ++i) {
    const bool last = i + 1 == stretches_.size();
    out = last ? epochs : std::min(epochs, out + stretches_[i].epochs);
  }
  return out;
}

int64_t Schedule::predicted_batches(int64_t epochs, int64_t batches_per_epoch) const {
  int64_t total = 0;
  for (size_t i = 0; i < stretches_.size() && epochs > 0; ++i) {
    const bool last = i + 1 == stretches_.size();
    const int64_t here = last ? epochs : std::min(epochs, stretches_[i].epochs);
    total += here * predicted_in_epoch(stretches_[i], batches_per_epoch);
    epochs -= here;
  }
  return total;
}

double Schedule::predicted_share(int64_t epochs, int64_t batches_per_epoch) const {
  const int64_t all = epochs * batches_per_epoch;
  if (all <= 0) return 0;
  return static_cast<double>(predicted_batches(epochs, batches_per_epoch)) /
         static_cast<double>(all);
}

std::string Schedule::str() const {
  std::vector<std::string> parts;
  for (const Stretch& s : stretches_) {
    std::string ratio = core::cat(s.predicted, ":", s.exact);
    if (s.predicted == 0) ratio = "bp";
    if (s.exact == 0) ratio = "gp";
    parts.push_back(s.epochs > 0 ? core::cat(s.epochs, "ep ", ratio) : ratio);
  }
  return core::join(parts, ", ");
}

}  // namespace adagp::schedule
