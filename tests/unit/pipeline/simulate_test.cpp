// Does the event simulator agree with a clock that ticks?

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "adagp/base/core/error.h"
#include "adagp/sim/pipeline/simulate.h"

namespace adagp::pipeline {
namespace {

struct Ticked {
  double makespan = 0;
  std::vector<double> busy;
};

// One unit of time after the other. Knows compute ops, their order on a device and what they need
// from other stages; sends and receives of the lists are ignored. Costs are whole numbers.
class Ticker {
 public:
  Ticker(const OpLists& op_lists, const Costs& costs) : op_lists_(op_lists), costs_(costs) {
    for (const OpList& list : op_lists.devices) {
      lists_.emplace_back();
      for (const Op& op : list) {
        if (op.kind != Kind::kSend && op.kind != Kind::kReceive) lists_.back().push_back(op);
      }
    }
  }

  Ticked run() {
    const size_t devices = lists_.size();
    std::vector<size_t> next(devices, 0);
    std::vector<long> free_at(devices, 0);
    Ticked out{0, std::vector<double>(devices, 0)};
    for (long now = 0;; ++now) {
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t d = 0; d < devices; ++d) {
          if (next[d] == lists_[d].size() || free_at[d] > now) continue;
          const Op& op = lists_[d][next[d]];
          if (op.kind == Kind::kAllReduce) {
            const auto p = static_cast<size_t>(op.peer);
            if (next[p] == lists_[p].size() || free_at[p] > now) continue;
            const Op& other = lists_[p][next[p]];
            if (other.kind != op.kind || other.stage != op.stage || other.batch != op.batch)
              continue;
            free_at[d] = free_at[p] = now + 2 * static_cast<long>(costs_.latency);
            ++next[p];
          } else {
            if (!ready(op, d, now)) continue;
            const long time = duration(op, static_cast<int>(d));
            free_at[d] = now + time;
            out.busy[d] += static_cast<double>(time);
            ends_[key(op)] = {free_at[d], d};
          }
          ++next[d];
          moved = true;
        }
      }
      bool over = true;
      for (size_t d = 0; d < devices; ++d) over = over && next[d] == lists_[d].size();
      if (over) {
        for (const long time : free_at) out.makespan = std::max(out.makespan, double(time));
        return out;
      }
      if (now > 1'000'000) throw Error("ticker: deadlock");
    }
  }

 private:
  using Key = std::tuple<bool, int, int, int>;  // backward, batch, stage, micro
  static Key key(const Op& op) {
    // A weight gradient makes nothing others wait for; it must not replace the input gradient.
    const int stage = op.kind == Kind::kWeightGradient ? -1 : op.stage;
    return {op.kind != Kind::kForward, op.batch, stage, op.micro};
  }

  bool ready(const Op& op, size_t device, long now) const {
    if (op.micro < 0 || op.kind == Kind::kWeightGradient) return true;
    const bool backward = op.kind != Kind::kForward;
    const int stage = op.stage + (backward ? 1 : -1);
    if (stage < 0 || stage >= op_lists_.placement.stages) return true;
    const auto found = ends_.find({backward, op.batch, stage, op.micro});
    if (found == ends_.end()) return false;
    const long latency = found->second.second == device ? 0 : static_cast<long>(costs_.latency);
    return found->second.first + latency <= now;
  }

  long duration(const Op& op, int device) const {
    double time = 0;
    for (int stage = 0; stage < op_lists_.placement.stages; ++stage) {
      for (int replica = 0; replica < op_lists_.placement.replicas; ++replica) {
        const bool mine = op.stage < 0 ? op_lists_.placement.device_of(stage, replica) == device
                                       : stage == op.stage && replica == op.replica;
        if (!mine) continue;
        const StageCost& cost = costs_.stages[static_cast<size_t>(stage)];
        time += op.kind == Kind::kForward
                    ? cost.forward + (op.phase == Phase::kPredict ? cost.summary : 0)
                : op.kind == Kind::kBackward       ? cost.backward
                : op.kind == Kind::kInputGradient  ? cost.input_gradient
                : op.kind == Kind::kWeightGradient ? cost.weight_gradient
                : op.kind == Kind::kPredictUpdate  ? cost.predict_update
                                                   : cost.optimizer;
      }
    }
    return static_cast<long>(time);
  }

  const OpLists& op_lists_;
  const Costs& costs_;
  std::vector<OpList> lists_;
  std::map<Key, std::pair<long, size_t>> ends_;
};

std::vector<Request> requests() {
  std::vector<Request> all;
  for (const Schedule& schedule : schedules()) {
    for (const int devices : {1, 2, 3, 4, 6}) {
      for (const int micro : {1, 3, 4, 6, 8}) {
        for (const int chunks : {1, 2}) {
          for (const bool overlap : {true, false}) {
            Request request{schedule.name, devices, micro, chunks, {}, overlap};
            try {
              make_placement(request);
              all.push_back(request);
            } catch (const UsageError&) {
            }
          }
        }
      }
    }
  }
  return all;
}

Costs random_costs(const Placement& placement, std::mt19937& random, double scale = 1) {
  Costs costs;
  for (int stage = 0; stage < placement.stages; ++stage) {
    const auto draw = [&](unsigned most) { return scale * (random() % (most + 1)); };
    StageCost cost{1 + draw(4), 1 + draw(6), 1 + draw(3), draw(3), draw(2), draw(3), draw(2)};
    costs.stages.push_back(cost);
  }
  costs.latency = scale * (random() % 4);
  return costs;
}

TEST(PipelineSimulate, AgreesWithAClockThatTicks) {
  std::mt19937 random(3);
  size_t compared = 0;
  for (const Request& wanted : requests()) {
    Request request = wanted;
    for (const char* phases : {"bp", "gp", "gp-bp", "bp-gp*3-bp-bp-gp"}) {
      const Sequence sequence = parse_phases(phases);
      request.phases = sequence.cycle;
      const OpLists op_lists = make_op_lists(request);
      const Costs costs = random_costs(op_lists.placement, random);
      SimulateOptions options;
      options.overlap = request.overlap;
      const Result ours = simulate(op_lists.placement, costs, sequence, options);
      const Ticked slow = Ticker(op_lists, costs).run();
      EXPECT_EQ(ours.makespan, slow.makespan) << request.schedule << " " << request.devices << " x "
                                              << request.micro_batches << " " << phases;
      EXPECT_EQ(ours.busy, slow.busy);
      ++compared;
    }
  }
  EXPECT_GT(compared, 400U);
}

// A period that is multiplied against every batch simulated, where devices differ in speed and
// costs are no whole numbers. Sums of a thousand terms differ by rounding.
TEST(PipelineSimulate, AMultipliedPeriodIsTheSimulationOfEveryBatch) {
  std::mt19937 random(5);
  int multiplied = 0;
  for (const Request& request : requests()) {
    const Placement placement = make_placement(request);
    for (const char* phases : {"bp", "gp", "gp-bp", "gp*3-bp", "gp*25-bp*11"}) {
      Costs costs = random_costs(placement, random, 0.1 * (1 + random() % 30) / 7);
      for (StageCost& cost : costs.stages) cost.output_bytes = 1 + random() % 5;
      costs.bandwidth = random() % 2 == 0 ? 0 : 1 + random() % 7;
      costs.copies = {1 + static_cast<int>(random() % 3), 0.1 * (random() % 4), 1.0 + random() % 5,
                      0.5 * (random() % 4)};
      for (StageCost& cost : costs.stages) {
        cost.weight_bytes = random() % 9;
        cost.summary_bytes = random() % 3;
      }
      Sequence sequence = parse_phases(phases);
      sequence.batches = 203;
      SimulateOptions options;
      options.overlap = request.overlap;
      const Result quick = simulate(placement, costs, sequence, options);
      options.on_event = [](const Event&) {};
      const Result full = simulate(placement, costs, sequence, options);
      EXPECT_EQ(full.simulated_batches, 203);
      if (quick.simulated_batches < 203) ++multiplied;
      EXPECT_NEAR(quick.makespan, full.makespan, 1e-9 * full.makespan)
          << request.schedule << " " << request.devices << " x " << request.micro_batches << " "
          << phases;
      for (size_t d = 0; d < full.busy.size(); ++d) {
        EXPECT_NEAR(quick.busy[d], full.busy[d], 1e-9 * full.makespan);
        EXPECT_NEAR(quick.exchange_wait[d], full.exchange_wait[d], 1e-9 * full.makespan);
      }
      EXPECT_EQ(quick.peak_stash, full.peak_stash);
      EXPECT_EQ(quick.messages, full.messages);
      EXPECT_EQ(quick.synchronisations, full.synchronisations);
    }
  }
  EXPECT_GT(multiplied, 300);
}

Placement two_stages(const std::string& schedule, int micro) {
  return make_placement({schedule, 2, micro});
}

// Two forward passes; the second message waits for the first, which takes 10 / 2.
TEST(PipelineSimulate, MessagesShareTheBandwidth) {
  Costs costs{{{}, {}}, 3, 2};
  costs.stages[0].output_bytes = 10;
  const Placement placement = two_stages("gpipe", 2);
  // 0-1 forward, 1-6 on the wire, 9 there; 1-2 forward, 6-11 on the wire, 14 there, 15 done.
  EXPECT_EQ(simulate(placement, costs, parse_phases("gp")).makespan, 15);
}

// Chimera on two devices: no bubble in 6, then two all-reduces of 8 / 2 each.
TEST(PipelineSimulate, ReplicasExchangeGradientsOrSummaries) {
  Costs costs{{{}, {}}, 0, 2};
  for (StageCost& stage : costs.stages) stage.weight_bytes = 8;
  const Placement placement = two_stages("chimera", 2);
  const Result exact = simulate(placement, costs, parse_phases("bp"));
  EXPECT_EQ(exact.makespan, 6 + 2 * 4);
  EXPECT_EQ(exact.synchronisations, 2);
  const Result predicted = simulate(placement, costs, parse_phases("gp"));
  EXPECT_EQ(predicted.makespan, 2);  // summaries weigh nothing here
  EXPECT_EQ(predicted.synchronisations, 2);
  costs.latency = 3;
  for (StageCost& stage : costs.stages) stage.summary_bytes = 2;
  // Forward, exchange (2 * 3 + 2 / 2), forward, exchange; the message comes during the first one.
  EXPECT_EQ(simulate(placement, costs, parse_phases("gp")).makespan, 1 + 7 + 1 + 7);
  EXPECT_EQ(simulate(two_stages("gpipe", 2), costs, parse_phases("gp-bp")).synchronisations, 0);
}

TEST(PipelineSimulate, StashOfEachDevice) {
  const auto stash = [](const char* name, int micro, const char* phases) {
    const Placement placement = make_placement({name, 4, micro});
    return simulate(placement, uniform_costs(placement, {}), parse_phases(phases)).peak_stash;
  };
  EXPECT_EQ(stash("gpipe", 8, "bp"), (std::vector<int>{8, 8, 8, 8}));
  EXPECT_EQ(stash("dapple", 8, "bp"), (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(stash("zero-bubble", 8, "bp"), (std::vector<int>{4, 4, 4, 4}));
  EXPECT_EQ(stash("chimera", 8, "bp"), (std::vector<int>{3, 4, 4, 3}));
  EXPECT_EQ(stash("gpipe", 8, "gp"), (std::vector<int>{0, 0, 0, 0}));
}

TEST(PipelineSimulate, FourByFourOfChimera) {
  const Placement placement = make_placement({"chimera", 4, 4});
  EXPECT_EQ(simulate(placement, uniform_costs(placement, {}), parse_phases("gp-bp")).makespan, 20);
}

TEST(PipelineSimulate, CostsOfOtherStagesAreRefused) {
  EXPECT_THROW(simulate(two_stages("gpipe", 2), Costs{{{}}, 0, 0}, parse_phases("bp")), Error);
}

}  // namespace
}  // namespace adagp::pipeline
