#include "adagp/sim/pipeline/training.h"

#include <algorithm>

namespace adagp::pipeline {

TrainingTime training_time(const Placement& placement, const Costs& costs,
                           const schedule::Schedule& schedule, int64_t epochs,
                           int64_t batches_per_epoch, bool overlap) {
  SimulateOptions options;
  options.overlap = overlap;
  const auto epoch_time = [&](const Costs& of, int64_t predicted, int64_t exact) {
    Sequence sequence;
    // A cycle that is longer than the epoch ends with it.
    const auto count = [&](int64_t n) {
      return static_cast<size_t>(std::min(n, batches_per_epoch));
    };
    sequence.cycle.assign(count(predicted), Phase::kPredict);
    sequence.cycle.insert(sequence.cycle.end(), count(exact), Phase::kBackprop);
    sequence.batches = batches_per_epoch;
    return simulate(placement, of, sequence, options).makespan;
  };
  TrainingTime time;
  time.exact = static_cast<double>(epochs) * epoch_time(plain_costs(costs), 0, 1);
  int64_t left = epochs;
  const auto& stretches = schedule.stretches();
  for (size_t i = 0; i < stretches.size() && left > 0; ++i) {
    const bool to_the_end = stretches[i].epochs == 0 || i + 1 == stretches.size();
    const int64_t length = to_the_end ? left : std::min(left, stretches[i].epochs);
    time.scheduled +=
        static_cast<double>(length) * epoch_time(costs, stretches[i].predicted, stretches[i].exact);
    left -= length;
  }
  return time;
}

double steady_speedup(const Placement& placement, const Costs& costs, bool overlap) {
  return 2 * steady_time(placement, plain_costs(costs), {Phase::kBackprop}, overlap) /
         steady_time(placement, costs, {Phase::kPredict, Phase::kBackprop}, overlap);
}

}  // namespace adagp::pipeline
