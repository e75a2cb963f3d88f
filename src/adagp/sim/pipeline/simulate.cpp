#include "adagp/sim/pipeline/simulate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/pipeline/stream.h"

namespace adagp::pipeline {
namespace {

constexpr int kMostPeriod = 8;  // cycles
constexpr double kRounding = 1e-9;
constexpr int64_t kMostBatches = int64_t{1} << 27;
constexpr size_t kMostCycle = 10'000;

// Do times repeat: have the last two stretches of `period` cycles moved every variable alike?
//
// A device's next time is a maximum over chains of ops, each of which starts at some variable and
// adds a constant. If all variables have moved by the same amount, so will the next ones. They need
// not all: a device that others only wait for may be faster than they. It is enough that nobody
// waits for something that moves faster, because then no other chain overtakes those that made the
// maximum twice.
bool repeats(const std::deque<Snapshot>& history, size_t period,
             const std::set<std::pair<int, int>>& influences) {
  if (history.size() < 2 * period + 1) return false;
  const auto& now = history.back().variables;
  const auto& before = history[history.size() - 1 - period].variables;
  const auto& earlier = history[history.size() - 1 - 2 * period].variables;
  if (now.size() != before.size() || now.size() != earlier.size()) return false;
  double largest = 0;
  for (size_t i = 0; i < now.size(); ++i) largest = std::max(largest, now[i].time - before[i].time);
  const double close = kRounding * std::max(largest, now[0].time * 1e-3);
  const auto moved = [&](size_t i) { return now[i].time - before[i].time; };
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i].from != before[i].from || now[i].to != before[i].to) return false;
    if (std::fabs(moved(i) - (before[i].time - earlier[i].time)) > close) return false;
    // The first variables are the devices' clocks.
    if (moved(static_cast<size_t>(now[i].from)) > moved(i) + close) return false;
    if (moved(i) > moved(static_cast<size_t>(now[i].to)) + close) return false;
  }
  return std::all_of(influences.begin(), influences.end(), [&](const auto& pair) {
    return moved(static_cast<size_t>(pair.first)) <=
           moved(static_cast<size_t>(pair.second)) + close;
  });
}

// Looks for the period of something that is done over and over.
class Search {
 public:
  // After each time. The number of times after which everything repeats, or 0.
  size_t period(const Cluster& cluster, int32_t batch) {
    history_.push_back(cluster.snapshot(batch));
    if (history_.size() > 2 * kMostPeriod + 1) history_.pop_front();
    for (size_t period = 1; period <= kMostPeriod; ++period) {
      if (repeats(history_, period, cluster.influences())) return period;
    }
    return 0;
  }

  const Snapshot& now() const { return history_.back(); }
  const Snapshot& before(size_t period) const { return history_[history_.size() - 1 - period]; }

 private:
  std::deque<Snapshot> history_;
};

std::optional<Phase> phase_of(const std::string& name) {
  for (const Phase phase : {Phase::kBackprop, Phase::kPredict, Phase::kLowRes}) {
    if (name == phase_name(phase)) return phase;
  }
  return std::nullopt;
}

class Run {
 public:
  Run(const Placement& placement, const Costs& costs, const SimulateOptions& options)
      : cluster(placement, costs),
        stream_(placement, options.overlap),
        every_batch_(options.on_event) {
    cluster.on_event = options.on_event;
  }

  Cluster cluster;
  int64_t simulated = 0;

  // `times` in a row. Long ones are multiplied as whole sequences are.
  void batches(Phase phase, int64_t times) {
    Search search;
    bool found = every_batch_ || times <= kMostPeriod;
    while (times-- > 0) {
      cluster.run(stream_.next(phase));
      ++simulated;
      ++batch_;
      if (!found && times > 0) found = skip(search, 1, times);
    }
  }

  void cycle(const std::vector<Phase>& phases, size_t count) {
    for (size_t i = 0; i < count;) {
      size_t end = i;
      while (end < count && phases[end] == phases[i]) ++end;
      batches(phases[i], static_cast<int64_t>(end - i));
      i = end;
    }
  }

  void finish() { cluster.run(stream_.finish()); }

  // When what `search` looks at repeats, as much of the `left` times as whole periods have.
  bool skip(Search& search, size_t length, int64_t& left) {
    const size_t period = every_batch_ ? 0 : search.period(cluster, batch_);
    if (period == 0) return false;
    const int64_t times = left / static_cast<int64_t>(period);
    const auto batches = static_cast<int32_t>(period * length);
    cluster.skip(times, search.before(period), search.now(), batches);
    stream_.skip(static_cast<int32_t>(times * batches));
    batch_ += static_cast<int32_t>(times * batches);
    left %= static_cast<int64_t>(period);
    return true;
  }

  int32_t batch() const { return batch_; }

 private:
  Stream stream_;
  bool every_batch_;
  int32_t batch_ = 0;
};

}  // namespace

Sequence parse_phases(const std::string& text) {
  Sequence sequence;
  sequence.cycle.clear();
  const std::string all = core::lower(core::trim(text));
  for (const std::string& part : core::split(all, '-')) {
    const auto pieces = core::split(part, '*');
    long long count = 1;
    const std::optional<Phase> phase = pieces.empty() ? std::nullopt : phase_of(pieces[0]);
    if (!phase || pieces.size() > 2 ||
        (pieces.size() == 2 && (!core::parse_integer(pieces[1], count) || count < 1 ||
                                count > static_cast<long long>(kMostCycle)))) {
      throw UsageError(core::cat("--phases '", text, "': '", part,
                                 "', expected bp, gp, low, gp-bp or counts as in gp*4-bp"));
    }
    sequence.cycle.insert(sequence.cycle.end(), static_cast<size_t>(count), *phase);
    if (sequence.cycle.size() > kMostCycle) {
      throw UsageError(core::cat("--phases '", text, "': more than ", kMostCycle, " batches"));
    }
  }
  sequence.batches = static_cast<int64_t>(sequence.cycle.size());
  return sequence;
}

std::string phases_text(const std::vector<Phase>& cycle) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < cycle.size();) {
    size_t end = i;
    while (end < cycle.size() && cycle[end] == cycle[i]) ++end;
    const std::string name = phase_name(cycle[i]);
    parts.push_back(end - i == 1 ? name : core::cat(name, "*", end - i));
    i = end;
  }
  return core::join(parts, "-");
}

Costs uniform_costs(const Placement& placement, const StageCost& device) {
  StageCost stage = device;
  const double share = 1.0 / placement.chunks();
  for (double* time :
       {&stage.forward, &stage.backward, &stage.input_gradient, &stage.weight_gradient,
        &stage.summary, &stage.predict_update, &stage.optimizer, &stage.predictor_step}) {
    *time *= share;
  }
  return {std::vector<StageCost>(static_cast<size_t>(placement.stages), stage)};
}

Costs plain_costs(Costs costs) {
  for (StageCost& stage : costs.stages) stage.predictor_step = 0;
  return costs;
}

Result simulate(const Placement& placement, const Costs& costs, const Sequence& sequence,
                const SimulateOptions& options) {
  const auto length = static_cast<int64_t>(sequence.cycle.size());
  if (length == 0 || sequence.batches < 1 || sequence.batches > kMostBatches) {
    throw UsageError(core::cat("pipeline: ", sequence.batches, " batches of a cycle of ", length,
                               "; expected 1 to ", kMostBatches, " batches"));
  }
  Run run(placement, costs, options);
  Search search;
  bool found = false;
  int64_t cycles = sequence.batches / length;
  while (cycles-- > 0) {
    run.cycle(sequence.cycle, sequence.cycle.size());
    if (!found && cycles > 0) found = run.skip(search, sequence.cycle.size(), cycles);
  }
  run.cycle(sequence.cycle, static_cast<size_t>(sequence.batches % length));
  run.finish();

  Result result;
  result.makespan = run.cluster.now();
  result.busy = run.cluster.busy();
  result.exchange_wait = run.cluster.exchange_wait();
  for (const double busy : result.busy) {
    result.utilisation.push_back(result.makespan > 0 ? busy / result.makespan : 0);
  }
  result.peak_stash = run.cluster.peak_stash();
  result.synchronisations = run.cluster.all_reduces();
  result.messages = run.cluster.messages();
  result.simulated_batches = run.simulated;
  return result;
}

double steady_time(const Placement& placement, const Costs& costs, const std::vector<Phase>& cycle,
                   bool overlap) {
  constexpr int kMostCycles = 1000;
  SimulateOptions options;
  options.overlap = overlap;
  Run run(placement, costs, options);
  Search search;
  double before = 0;
  for (int i = 0; i < kMostCycles; ++i) {
    before = run.cluster.now();
    run.cycle(cycle, cycle.size());
    const size_t period = search.period(run.cluster, run.batch());
    if (period == 0) continue;
    double slowest = 0;  // device: the pace of the whole
    const auto& then = search.before(period).variables;
    for (size_t d = 0; d < static_cast<size_t>(placement.devices); ++d) {
      slowest = std::max(slowest, search.now().variables[d].time - then[d].time);
    }
    return slowest / static_cast<double>(period);
  }
  return run.cluster.now() - before;
}

}  // namespace adagp::pipeline
