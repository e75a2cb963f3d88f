#pragma once
// Whole runs: inference of a network, or epochs x batches of training by a schedule, per design.

#include <cstdint>
#include <span>
#include <vector>

#include "adagp/base/schedule/schedule.h"
#include "adagp/sim/accel/design/design.h"

namespace adagp::accel {

struct Run {
  schedule::Schedule schedule;
  int64_t epochs = 90;
  int64_t batches_per_epoch = 1;
};

// ceil(examples / batch). Known sizes: cifar 50 000, imagenet 1 281 167; the commands ask for
// others.
int64_t batches_of(int64_t examples, int64_t batch);

// Batches of a run by phase. Warm-up: the leading stretches without GP batches.
struct PhaseBatches {
  int64_t warm_up = 0, backprop = 0, predict = 0;
};
PhaseBatches count_batches(const Run& run);

struct PhaseTotal {
  int64_t batches = 0;
  Cycles cycles;  // of all its batches
  Energy energy;
};

struct DesignResult {
  const Design* design = nullptr;
  BatchCost backprop,
      predict;  // one batch each; `predict` is empty when the design does not predict
  PhaseTotal warm_up, phase_bp, phase_gp;
  Cycles cycles;                   // of the run
  Energy energy;                   // of the run
  SecondArray second;              // of the run
  double seconds = 0;              // total cycles / clock
  double speedup = 1;              // total cycles of the baseline on the same accelerator / ours
  double energy_ratio = 1;         // ours / the baseline's
  double memory_energy_ratio = 1;  // of buffer and DRAM accesses alone (Fig. 21)
};

// One design over a run; speed-up and ratios are left at 1.
DesignResult run_design(const Design& design, std::span<const LayerCost> layers,
                        const Accelerator& accelerator, const Run& run);

// A batch that updates the predicted layers by gradients that are already there.
BatchCost update_batch(std::span<const LayerCost> layers, const Accelerator& accelerator);

struct TrainingResult {
  std::vector<DesignResult> designs;  // in the order asked for
  DesignResult baseline;              // also when it was not asked for
  int64_t peak_backprop_bytes = 0;    // activations of a BP batch
  int64_t peak_predict_bytes = 0;     // of a GP batch
};

TrainingResult simulate_training(const Plan& plan, const Accelerator& accelerator,
                                 const Dataflow& dataflow, std::span<const Design* const> designs,
                                 const Run& run);

struct InferenceResult {
  std::vector<LayerCost> layers;  // `forward` of each, as in the plan
  PassCost total;                 // total.array: compute cycles; energy with leakage
  int64_t peak_bytes = 0;
};

InferenceResult simulate_inference(const Plan& plan, const Accelerator& accelerator,
                                   const Dataflow& dataflow);

// BW/FW of the products alone: (input + weight gradients) / forward, in array cycles.
double backward_over_forward(std::span<const LayerCost> layers);
// (1+r) / ((1 + r(1-f))(1+alpha)): the paper's speed-up for r = BW/FW, GP share f and predictor
// cost alpha.
double predicted_speedup(double r, double share, double alpha);

}  // namespace adagp::accel
