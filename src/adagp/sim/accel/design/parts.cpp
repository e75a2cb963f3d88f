#include "adagp/sim/accel/design/parts.h"

#include "adagp/base/core/lookup.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/design/design.h"
#include "adagp/sim/accel/memory.h"

namespace adagp::accel {
namespace {

void add_layer(const PassCost& cost, Cycles& step, Energy& energy, BatchCost& out) {
  step.array = add(step.array, cost.array);
  step.vector = add(step.vector, cost.vector);
  step.stall = add(step.stall, cost.stall);
  energy += cost.energy;
  out.dram_words += static_cast<double>(cost.dram_reads) + static_cast<double>(cost.dram_writes);
}

constexpr const Design* kDesigns[] = {&kBaseline, &kLow, &kEfficient, &kMax};

}  // namespace

int64_t Cycles::compute() const {
  return add(array, predictor, swap);
}
int64_t Cycles::total() const {
  return add(compute(), vector, stall);
}

Cycles& Cycles::operator+=(const Cycles& other) {
  array = add(array, other.array);
  predictor = add(predictor, other.predictor);
  swap = add(swap, other.swap);
  vector = add(vector, other.vector);
  stall = add(stall, other.stall);
  return *this;
}

Cycles Cycles::operator*(int64_t factor) const {
  return {mul(array, factor), mul(predictor, factor), mul(swap, factor), mul(vector, factor),
          mul(stall, factor)};
}

SecondArray& SecondArray::operator+=(const SecondArray& other) {
  busy = add(busy, other.busy);
  macs += other.macs;
  sram_words += other.sram_words;
  dram_words += other.dram_words;
  energy += other.energy;
  return *this;
}

SecondArray SecondArray::operator*(int64_t factor) const {
  const auto times = static_cast<double>(factor);
  return {mul(busy, factor), macs * times, sram_words * times, dram_words * times, energy * times};
}

void layers_alone(std::span<const LayerCost> layers, schedule::Phase phase, BatchCost& out) {
  out = BatchCost{};
  out.forward.resize(layers.size());
  out.backward.resize(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    add_layer(layers[i].forward, out.forward[i], out.energy_forward, out);
    if (phase == schedule::Phase::kPredict) {
      add_layer(layers[i].update_predict, out.forward[i], out.energy_forward, out);
    } else {
      add_layer(layers[i].input_gradient, out.backward[i], out.energy_backward, out);
      add_layer(layers[i].weight_gradient, out.backward[i], out.energy_backward, out);
      add_layer(layers[i].vector_backward, out.backward[i], out.energy_backward, out);
      add_layer(layers[i].update_backprop, out.backward[i], out.energy_backward, out);
    }
  }
}

void add_predictor(const PassCost& cost, Cycles& step, BatchCost& out) {
  step.predictor = add(step.predictor, cost.array);
  step.vector = add(step.vector, cost.vector);
  step.stall = add(step.stall, cost.stall);
  out.energy_predictor += cost.energy;
  out.dram_words += static_cast<double>(cost.dram_reads) + static_cast<double>(cost.dram_writes);
}

int64_t swap_cycles(int64_t words, const Accelerator& a) {
  return cycles_for(static_cast<double>(words), a.swap_words_per_cycle > 0
                                                    ? a.swap_words_per_cycle
                                                    : static_cast<double>(a.array.columns));
}

void swap_words(int64_t in, int64_t stored, const Accelerator& a, Cycles& step, BatchCost& out) {
  step.swap = add(step.swap, swap_cycles(add(in, stored), a));
  out.energy_predictor += transfer_energy(static_cast<double>(in), static_cast<double>(stored), a);
  out.dram_words += static_cast<double>(in) + static_cast<double>(stored);
}

void updates_alone(std::span<const LayerCost> layers, BatchCost& out) {
  out = BatchCost{};
  out.forward.resize(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    add_layer(layers[i].update_predict, out.forward[i], out.energy_forward, out);
  }
}

void finish(int64_t pes, const Accelerator& accelerator, BatchCost& out) {
  for (const Cycles& step : out.forward) out.cycles += step;
  for (const Cycles& step : out.backward) out.cycles += step;
  out.energy = out.energy_forward;
  out.energy += out.energy_backward;
  out.energy += out.energy_predictor;
  out.energy += leakage_energy(out.cycles.total(), pes, accelerator);
}

std::span<const Design* const> designs() {
  return kDesigns;
}

const Design& find_design(const std::string& name) {
  return *core::find_named(kDesigns, name, "design", " is unknown");
}

}  // namespace adagp::accel
