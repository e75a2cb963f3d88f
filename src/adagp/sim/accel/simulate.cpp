#include "adagp/sim/accel/simulate.h"

#include <algorithm>
#include <functional>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/design/parts.h"
#include "adagp/sim/accel/rtl_machine.h"

namespace adagp::accel {
namespace {

PhaseTotal phase_total(const BatchCost& batch, int64_t batches) {
  return {batches, batch.cycles * batches, batch.energy * static_cast<double>(batches)};
}

void compare(const DesignResult& baseline, DesignResult& out) {
  out.speedup = static_cast<double>(baseline.cycles.total()) /
                static_cast<double>(std::max<int64_t>(1, out.cycles.total()));
  out.energy_ratio = out.energy.total() / baseline.energy.total();
  out.memory_energy_ratio = out.energy.memory() / baseline.energy.memory();
}

}  // namespace

int64_t batches_of(int64_t examples, int64_t batch) {
  if (examples < 1 || batch < 1) {
    throw UsageError(
        core::cat(examples, " examples in batches of ", batch, ": both must be at least 1"));
  }
  return ceil_div(examples, batch);
}

PhaseBatches count_batches(const Run& run) {
  if (run.epochs < 1 || run.batches_per_epoch < 1) {
    throw UsageError(core::cat(run.epochs, " epochs of ", run.batches_per_epoch,
                               " batches: both must be at least 1"));
  }
  const int64_t all = mul(run.epochs, run.batches_per_epoch);
  PhaseBatches out;
  out.predict = run.schedule.predicted_batches(run.epochs, run.batches_per_epoch);
  out.warm_up = mul(run.schedule.warm_up_epochs(run.epochs), run.batches_per_epoch);
  out.backprop = all - out.predict - out.warm_up;
  return out;
}

namespace {

// Fills the cost of one batch.
using BatchOf = std::function<void(schedule::Phase, BatchCost&)>;

DesignResult checked_run(const Design& design, const BatchOf& batch, const Accelerator& accelerator,
                         const Run& run) {
  PhaseBatches batches = count_batches(run);
  if (!design.predicts) {
    batches.backprop = add(batches.backprop, batches.predict);
    batches.predict = 0;
  }
  DesignResult out;
  out.design = &design;
  batch(schedule::Phase::kBackprop, out.backprop);
  if (design.predicts) batch(schedule::Phase::kPredict, out.predict);
  out.warm_up = phase_total(out.backprop, batches.warm_up);
  out.phase_bp = phase_total(out.backprop, batches.backprop);
  out.phase_gp = phase_total(out.predict, batches.predict);
  for (const PhaseTotal* phase : {&out.warm_up, &out.phase_bp, &out.phase_gp}) {
    out.cycles += phase->cycles;
    out.energy += phase->energy;
  }
  out.second = out.backprop.second * add(batches.warm_up, batches.backprop);
  out.second += out.predict.second * batches.predict;
  out.seconds = static_cast<double>(out.cycles.total()) / (accelerator.clock_mhz * 1e6);
  return out;
}

DesignResult run_batches(const Design& design, const BatchOf& batch, const Accelerator& accelerator,
                         const Run& run) {
  try {
    return checked_run(design, batch, accelerator, run);
  } catch (const Overflow& e) {
    throw DataError(core::cat(run.epochs, " epochs of ", run.batches_per_epoch,
                              " batches take more cycles than 64 bits hold (", e.what(),
                              "); simulate fewer epochs or examples"));
  }
}

}  // namespace

DesignResult run_design(const Design& design, std::span<const LayerCost> layers,
                        const Accelerator& accelerator, const Run& run) {
  const auto batch = [&](schedule::Phase phase, BatchCost& out) {
    design.batch(layers, phase, accelerator, out);
  };
  return run_batches(design, batch, accelerator, run);
}

BatchCost update_batch(std::span<const LayerCost> layers, const Accelerator& accelerator) {
  BatchCost out;
  updates_alone(layers, out);
  finish(accelerator.array.pes(), accelerator, out);
  return out;
}

TrainingResult simulate_training(const Plan& plan, const Accelerator& accelerator,
                                 const Dataflow& dataflow, std::span<const Design* const> designs,
                                 const Run& run) {
  std::vector<LayerCost> layers;
  const bool predicts =
      std::any_of(designs.begin(), designs.end(), [](const Design* d) { return d->predicts; });
  if (!is_rtl(accelerator)) {
    evaluate(plan, accelerator, dataflow, predicts ? Scope::kTraining : Scope::kBackprop, layers);
  }
  const auto run_one = [&](const Design& design) {
    if (!is_rtl(accelerator)) return run_design(design, layers, accelerator, run);
    const auto batch = [&](schedule::Phase phase, BatchCost& out) {
      rtl_batch(plan, accelerator, design, phase, out);
    };
    return run_batches(design, batch, accelerator, run);
  };
  TrainingResult out;
  out.baseline = run_one(kBaseline);
  for (const Design* design : designs) {
    out.designs.push_back(design == &kBaseline ? out.baseline : run_one(*design));
    compare(out.baseline, out.designs.back());
  }
  out.peak_backprop_bytes = mul(peak_words_backprop(plan), accelerator.word_bytes);
  out.peak_predict_bytes = mul(peak_words_forward(plan), accelerator.word_bytes);
  return out;
}

InferenceResult simulate_inference(const Plan& plan, const Accelerator& accelerator,
                                   const Dataflow& dataflow) {
  refuse_rtl(accelerator, "inference");
  InferenceResult out;
  evaluate(plan, accelerator, dataflow, Scope::kInference, out.layers);
  for (const LayerCost& layer : out.layers) out.total += layer.forward;
  out.total.energy += leakage_energy(out.total.total(), accelerator.array.pes(), accelerator);
  out.peak_bytes = mul(peak_words_forward(plan), accelerator.word_bytes);
  return out;
}

double backward_over_forward(std::span<const LayerCost> layers) {
  double forward = 0;
  double backward = 0;
  for (const LayerCost& layer : layers) {
    forward += static_cast<double>(layer.forward.array);
    backward += static_cast<double>(layer.input_gradient.array) +
                static_cast<double>(layer.weight_gradient.array);
  }
  return backward / forward;
}

double predicted_speedup(double r, double share, double alpha) {
  return (1 + r) / ((1 + r * (1 - share)) * (1 + alpha));
}

}  // namespace adagp::accel
