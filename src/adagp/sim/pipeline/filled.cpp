// A BP batch whose bubbles hold passes of a cheap batch. Both batches start from the same weights,
// which move after both, in their order: together they are one batch.
//
// GP: forward passes alone. What the bubbles do not hold runs before the BP batch.
//
// Low resolution: backward passes, too. No such pass is free: the BP batch occupies the last device
// without a pause, and waits for the first device before and after that. So a micro-batch that
// comes and goes in between would be in the way of the last device, and any other has a pass on the
// first device before the BP batch begins or after it ends. The forward pass is the cheaper one.
// Thus micro-batches go ahead of the BP batch, as many as the last device can take backward before
// the BP batch reaches it; their other passes are free. The rest goes forward in the bubbles, and
// has its backward pass in the bubbles or at the end.
//
// Where the bubbles are is counted with F = 1 and B = 2.

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "adagp/sim/pipeline/cluster.h"
#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

constexpr double kFitRounding = 1e-9;

struct Timed {
  double start = 0, end = 0;
  Op op;
};
using Lane = std::vector<Timed>;  // passes of a device, by start

// The times in which a device has nothing to do, from `begin` to `end`.
class Bubbles {
 public:
  Bubbles(const Lane& lane, double begin, double end) {
    for (const Timed& timed : lane) {
      if (timed.start > begin) gaps_.emplace_back(begin, timed.start);
      begin = std::max(begin, timed.end);
    }
    if (end > begin) gaps_.emplace_back(begin, end);
  }
  // The earliest start of a pass of that length, after all that came before it.
  std::optional<double> start(double ready, double length) {
    for (; next_ < gaps_.size(); ++next_) {
      auto& [begin, end] = gaps_[next_];
      begin = std::max(begin, ready);
      if (begin + length > end + kFitRounding) continue;
      return std::exchange(begin, begin + length);
    }
    return std::nullopt;
  }

 private:
  std::vector<std::pair<double, double>> gaps_;
  size_t next_ = 0;
};

// Both batches, per device.
class Pair {
 public:
  Pair(const Placement& placement, Phase cheap)
      : placement_(placement),
        cheap_(cheap),
        forward_(share_of(placement, cheap)),
        backward_(2 * forward_),
        lanes_(static_cast<size_t>(placement.devices)) {
    add_exact_batch();
    add_forwards();
    if (cheap_ == Phase::kLowRes) add_backwards();
  }

  std::vector<OpList> lists() const {
    std::vector<OpList> out;
    for (const Lane& lane : lanes_) {
      OpList& list = out.emplace_back();
      for (const Timed& timed : lane) list.push_back(timed.op);
    }
    return out;
  }

 private:
  void add_exact_batch() {
    Cluster cluster(placement_, {std::vector<StageCost>(static_cast<size_t>(placement_.stages))});
    cluster.on_event = [&](const Event& event) {
      if (event.op.micro < 0) return;
      Lane& lane = lanes_[static_cast<size_t>(event.device)];
      lane.push_back({event.start, event.end, event.op});
      set_batch(lane.back().op, 1, Phase::kBackprop);
    };
    std::vector<OpList> lists;
    for (int d = 0; d < placement_.devices; ++d) {
      lists.push_back(batch_ops(placement_, d, Phase::kBackprop));
    }
    cluster.run(lists);
    end_ = cluster.now();
  }

  // Of micro-batches, by device, as many as fit.
  std::vector<std::vector<double>> fitting_forwards() const {
    std::vector<Bubbles> bubbles;
    for (const Lane& lane : lanes_) bubbles.emplace_back(lane, 0, end_);
    std::vector<std::vector<double>> fitting;
    while (std::ssize(fitting) < placement_.micro_batches) {
      std::vector<double> starts;
      double ready = 0;
      for (Bubbles& device : bubbles) {
        const auto start = device.start(ready, forward_);
        if (!start) return fitting;
        starts.push_back(*start);
        ready = *start + forward_;
      }
      fitting.push_back(std::move(starts));
    }
    return fitting;
  }

  // How many go ahead of the BP batch although they would fit.
  int ahead() const {
    if (cheap_ == Phase::kPredict) return 0;
    const double arrival = forward_ * (placement_.devices - 1);
    return static_cast<int>((lanes_.back().front().start - arrival) / backward_ + kFitRounding);
  }

  void add_forwards() {
    const auto fitting = fitting_forwards();
    const int micros = placement_.micro_batches;
    const int before =
        std::max(micros - static_cast<int>(fitting.size()), std::min(ahead(), micros));
    for (int d = 0; d < placement_.devices; ++d) {
      for (int m = 0; m < micros; ++m) {
        add(d, Kind::kForward, m,
            m < before ? forward_ * (m - before + d)
                       : fitting[static_cast<size_t>(m - before)][static_cast<size_t>(d)]);
      }
    }
    sort();
  }

  void add_backwards() {
    std::vector<double> ready(static_cast<size_t>(placement_.micro_batches), 0);
    for (const Timed& timed : lanes_.back()) {
      if (timed.op.phase == cheap_) ready[static_cast<size_t>(timed.op.micro)] = timed.end;
    }
    for (int d = placement_.devices - 1; d >= 0; --d) {
      const Lane& lane = lanes_[static_cast<size_t>(d)];
      Bubbles bubbles(lane, lane.front().start, std::numeric_limits<double>::infinity());
      for (int m = 0; m < placement_.micro_batches; ++m) {
        double& time = ready[static_cast<size_t>(m)];
        time = *bubbles.start(time, backward_);
        add(d, Kind::kBackward, m, time);
        time += backward_;
      }
    }
    sort();
  }

  void add(int device, Kind kind, int micro, double start) {
    Op op = compute(kind, micro, device);
    set_batch(op, 0, cheap_);
    const double length = kind == Kind::kForward ? forward_ : backward_;
    lanes_[static_cast<size_t>(device)].push_back({start, start + length, op});
  }

  void sort() {
    for (Lane& lane : lanes_) {
      std::stable_sort(lane.begin(), lane.end(),
                       [](const Timed& a, const Timed& b) { return a.start < b.start; });
    }
  }

  const Placement& placement_;
  Phase cheap_;
  double forward_, backward_;  // lengths of the cheap passes
  std::vector<Lane> lanes_;
  double end_ = 0;  // of the BP batch alone
};

Schedule filled_with_cheap(Schedule schedule, const std::string& name, const std::string& about) {
  schedule.name = name;
  schedule.about = about;
  schedule.trains = false;
  schedule.pair = [](const Placement& placement, Phase cheap) {
    return Pair(placement, cheap).lists();
  };
  return schedule;
}

}  // namespace

Schedule filled() {
  return filled_with_cheap(dapple(), "filled",
                           "1F1B, a GP or low-resolution batch in the bubbles of the BP batch "
                           "after it (only simulated)");
}

Schedule filled_gpipe() {
  return filled_with_cheap(gpipe(), "filled-gpipe", "the same for GPipe (only simulated)");
}

}  // namespace adagp::pipeline
