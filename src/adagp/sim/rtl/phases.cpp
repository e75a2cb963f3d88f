#include "adagp/sim/rtl/phases.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::rtl {
namespace {

constexpr std::int64_t kMostBatches = 0xffffffff, kMostEpochs = (1 << kEpochBits) - 1,
                       kMostTurns = (1 << kRatioBits) - 1;

}  // namespace

void Schedule::check() const {
  if (epochs < 1 || epoch_batches < 1) {
    throw UsageError(core::cat("rtl: a schedule of ", epochs, " epochs of ", epoch_batches,
                               " batches: give at least 1 of each"));
  }
  if (epochs > kMostBatches / epoch_batches) {
    throw UsageError(core::cat("rtl: ", epochs, " epochs of ", epoch_batches,
                               " batches: the hardware counts up to ", kMostBatches, " batches"));
  }
  constexpr std::int64_t rows = 1 << kStretchAddressBits;
  const auto& all = stretches.stretches();
  if (static_cast<std::int64_t>(all.size()) > rows) {
    throw UsageError(core::cat("rtl: a schedule of ", all.size(),
                               " stretches: the hardware's table holds ", rows));
  }
  for (const schedule::Stretch& one : all) {
    if (one.epochs > kMostEpochs) {
      throw UsageError(core::cat("rtl: a stretch of ", one.epochs,
                                 " epochs: the hardware's table holds up to ", kMostEpochs));
    }
    if (one.predicted > kMostTurns || one.exact > kMostTurns) {
      throw UsageError(core::cat("rtl: a ratio of ", one.predicted, ":", one.exact,
                                 ": the hardware's table holds up to ", kMostTurns, " on a side"));
    }
  }
}

Phase Schedule::at(const Machine& machine, std::int64_t batch) const {
  if (!machine.has_predictor()) return Phase::kBp;
  const std::int64_t epoch = batch / epoch_batches;
  if (epoch < warm_epochs()) return Phase::kWarm;
  return stretches.at(epoch, batch % epoch_batches) == schedule::Phase::kPredict ? Phase::kGp
                                                                                 : Phase::kBp;
}

std::uint64_t Schedule::count(const Machine& machine, Phase phase) const {
  const bool predicts = machine.has_predictor();
  const std::int64_t warm = predicts ? warm_epochs() * epoch_batches : 0;
  const std::int64_t gp = predicts ? stretches.predicted_batches(epochs, epoch_batches) : 0;
  const std::int64_t out = phase == Phase::kWarm ? warm
                           : phase == Phase::kGp ? gp
                                                 : batches() - warm - gp;
  return static_cast<std::uint64_t>(out);
}

std::vector<Stretch> Schedule::table() const {
  std::vector<Stretch> out;
  bool warm = warm_up;
  for (const schedule::Stretch& one : stretches.stretches()) {
    warm = warm && one.predicted == 0;
    out.push_back({static_cast<std::uint32_t>(one.epochs),
                   static_cast<std::uint32_t>(one.predicted), static_cast<std::uint32_t>(one.exact),
                   warm});
  }
  out.back().epochs = 0;
  return out;
}

Schedule schedule_of(const std::string& text, std::int64_t epochs, std::int64_t epoch_batches) {
  return {schedule::Schedule::parse(text, epochs), epochs, epoch_batches};
}

Schedule one_batch(Phase phase) {
  Schedule out = schedule_of(phase == Phase::kGp ? "gp" : "bp", 1, 1);
  out.warm_up = phase == Phase::kWarm;
  return out;
}

std::uint64_t encode(const Stretch& stretch) {
  const std::uint64_t high = std::uint64_t{stretch.warm} << kRatioBits | stretch.m;
  return (high << kRatioBits | stretch.k) << kEpochBits | stretch.epochs;
}

}  // namespace adagp::rtl
