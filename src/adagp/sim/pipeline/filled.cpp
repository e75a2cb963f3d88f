// 1F1B whose bubbles hold the forward passes of a GP batch. Both batches start from the same
// weights, which move after both: together they are one batch, of which a part has predicted
// gradients. What the bubbles do not hold runs before the BP batch. Where the bubbles are is
// counted with F = 1 and B = 2.

#include <algorithm>
#include <optional>
#include <utility>

#include "adagp/sim/pipeline/cluster.h"
#include "adagp/sim/pipeline/orders.h"

namespace adagp::pipeline {
namespace {

constexpr double kFitRounding = 1e-9;

struct Timed {
  double start = 0;
  Op op;
};
using Lane = std::vector<Timed>;  // passes of a device, by start

// The times in which a device has nothing to do, from the first to the last.
class Bubbles {
 public:
  void busy(double start, double end) {
    if (start > until_) gaps_.emplace_back(until_, start);
    until_ = end;
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
  double until_ = 0;
  size_t next_ = 0;
};

struct ExactBatch {
  std::vector<Lane> lanes;
  std::vector<Bubbles> bubbles;
};

ExactBatch exact_batch(const Placement& placement) {
  const auto devices = static_cast<size_t>(placement.devices);
  ExactBatch out{std::vector<Lane>(devices), std::vector<Bubbles>(devices)};
  Cluster cluster(placement, {std::vector<StageCost>(static_cast<size_t>(placement.stages))});
  cluster.on_event = [&](const Event& event) {
    if (event.op.micro < 0) return;
    const auto device = static_cast<size_t>(event.device);
    out.lanes[device].push_back({event.start, event.op});
    out.bubbles[device].busy(event.start, event.end);
  };
  std::vector<OpList> lists;
  for (int d = 0; d < placement.devices; ++d) {
    lists.push_back(batch_ops(placement, d, Phase::kBackprop));
  }
  cluster.run(lists);
  for (Bubbles& bubbles : out.bubbles) bubbles.busy(cluster.now(), cluster.now());
  return out;
}

// Starts of a micro-batch on all devices; empty when it does not fit any more.
std::vector<double> fit(std::vector<Bubbles>& bubbles, double length) {
  std::vector<double> starts;
  double ready = 0;
  for (Bubbles& device : bubbles) {
    const auto start = device.start(ready, length);
    if (!start) return {};
    starts.push_back(*start);
    ready = *start + length;
  }
  return starts;
}

std::vector<OpList> filled_pair(const Placement& placement) {
  ExactBatch exact = exact_batch(placement);
  std::vector<std::vector<double>> fitting;
  while (std::ssize(fitting) < placement.micro_batches) {
    fitting.push_back(fit(exact.bubbles, placement.gp_share));
    if (!fitting.back().empty()) continue;
    fitting.pop_back();
    break;
  }
  const int before = placement.micro_batches - static_cast<int>(fitting.size());
  std::vector<OpList> lists;
  for (size_t d = 0; d < exact.lanes.size(); ++d) {
    Lane& lane = exact.lanes[d];
    for (Timed& timed : lane) set_batch(timed.op, 1, Phase::kBackprop);
    for (int m = 0; m < placement.micro_batches; ++m) {
      Op op = compute(Kind::kForward, m, static_cast<int>(d));
      set_batch(op, 0, Phase::kPredict);
      lane.push_back({m < before ? -1 : fitting[static_cast<size_t>(m - before)][d], op});
    }
    std::stable_sort(lane.begin(), lane.end(),
                     [](const Timed& a, const Timed& b) { return a.start < b.start; });
    OpList& list = lists.emplace_back();
    for (const Timed& timed : lane) list.push_back(timed.op);
  }
  return lists;
}

}  // namespace

Schedule filled() {
  Schedule schedule = dapple();
  schedule.name = "filled";
  schedule.about = "1F1B, a GP batch in the bubbles of the BP batch after it (only simulated)";
  schedule.trains = false;
  schedule.pair = filled_pair;
  return schedule;
}

}  // namespace adagp::pipeline
