// A second array for the predictor, beside the layers: both wait for each other after each step.
#include <algorithm>
#include <iterator>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/design/parts.h"

namespace adagp::accel {
namespace {

// Steps: a weighted layer with the rows up to the next one; rows before the first belong to it.
// `first` is the weighted row, [begin, end) the step's rows.
struct Step {
  size_t begin, end, layer;
};

std::vector<Step> steps_of(std::span<const LayerCost> layers) {
  std::vector<Step> steps;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].weighted) continue;
    if (!steps.empty()) steps.back().end = i;
    steps.push_back({steps.empty() ? 0 : i, layers.size(), i});
  }
  return steps;
}

int64_t time_of(const Step& step, const std::vector<Cycles>& cycles) {
  int64_t sum = 0;
  for (size_t i = step.begin; i < step.end; ++i) sum = add(sum, cycles[i].total());
  return sum;
}

// Walks the steps in the order of the pass: the predictor of one runs beside the next, and what is
// left of it after that is added to its own layer. Backward the words that were loaded are stored.
template <typename Iterator>
void overlap(Iterator begin, Iterator end, std::span<const LayerCost> layers,
             PassCost LayerCost::*predictor, const Accelerator& a, std::vector<Cycles>& cycles,
             BatchCost& out) {
  std::vector<int64_t> times;
  for (Iterator step = begin; step != end; ++step) times.push_back(time_of(*step, cycles));
  size_t i = 0;
  for (Iterator step = begin; step != end; ++step, ++i) {
    const PassCost& cost = layers[step->layer].*predictor;
    const int64_t hidden = i + 1 < times.size() ? times[i + 1] : 0;
    const int64_t loaded = layers[step->layer].reload;
    const int64_t stored = predictor == &LayerCost::second_backward ? loaded : 0;
    const int64_t busy = add(cost.total(), swap_cycles(add(loaded, stored), a));
    Energy energy = cost.energy;
    energy += transfer_energy(static_cast<double>(loaded), static_cast<double>(stored), a);
    // The last predictor works alone; its time counts beside its own layer.
    const Iterator next = std::next(step);
    ArrayOverlap& overlap = out.overlaps[(next == end ? step : next)->layer];
    if (i == 0) out.overlaps[step->layer].time = add(out.overlaps[step->layer].time, times[0]);
    overlap.busy = add(overlap.busy, busy);
    overlap.time = add(overlap.time, std::max(busy, hidden));
    const auto moved =
        static_cast<double>(add(add(cost.dram_reads, cost.dram_writes), add(loaded, stored)));
    out.second += {busy, static_cast<double>(cost.macs), static_cast<double>(cost.sram.total()),
                   moved, energy.total()};
    out.dram_words += moved;
    Cycles& own = cycles[step->layer];
    own.predictor = add(own.predictor, std::max<int64_t>(0, busy - hidden));
    out.energy_predictor += energy;
  }
}

void max_batch(std::span<const LayerCost> layers, schedule::Phase phase,
               const Accelerator& accelerator, BatchCost& out) {
  layers_alone(layers, phase, out);
  const std::vector<Step> steps = steps_of(layers);
  out.overlaps.resize(layers.size());
  overlap(steps.begin(), steps.end(), layers, &LayerCost::second_forward, accelerator, out.forward,
          out);
  if (phase == schedule::Phase::kBackprop) {
    overlap(steps.rbegin(), steps.rend(), layers, &LayerCost::second_backward, accelerator,
            out.backward, out);
  }
  finish(accelerator.array.pes() + accelerator.second_array().pes(), accelerator, out);
}

}  // namespace

const Design kMax = {"max", "predictor on a second array, beside the next layer", true, true,
                     max_batch};

}  // namespace adagp::accel
