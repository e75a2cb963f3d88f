#pragma once
// How a layer and its predictor share the hardware. The table is in design/parts.cpp.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "adagp/base/schedule/schedule.h"
#include "adagp/sim/accel/cost.h"

namespace adagp::accel {

// The time of a step, in parts that do not overlap.
struct Cycles {
  int64_t array = 0;      // the layer's products
  int64_t predictor = 0;  // what the predictor adds (max: only what the layers do not hide)
  int64_t swap = 0;       // moving predictor weights, design low also its results
  int64_t vector = 0;     // vector passes of the layer
  int64_t stall = 0;      // waiting for memory

  int64_t compute() const;  // array + predictor + swap: the column "cycles"
  int64_t total() const;    // all of it: what speed-ups are computed from
  Cycles& operator+=(const Cycles& other);
  Cycles operator*(int64_t factor) const;
};

// What the second array of design max does in some time; zero for other designs.
struct SecondArray {
  int64_t busy = 0;  // cycles in which it works or waits for memory; the rest it is idle
  // Words of a run may leave 64 bits where its cycles do not.
  double macs = 0, sram_words = 0, dram_words = 0;
  double energy = 0;  // J, without leakage

  SecondArray& operator+=(const SecondArray& other);
  SecondArray operator*(int64_t factor) const;
};

// How long the second array works beside a layer (on the predictor of another), and how long both
// take until they meet.
struct ArrayOverlap {
  int64_t busy = 0, time = 0;
};

// One batch: a step per layer (its forward and backward part together), and their sum.
struct BatchCost {
  std::vector<Cycles> forward, backward;  // per layer of the plan
  Cycles cycles;
  Energy energy;                                             // leakage included
  Energy energy_forward, energy_backward, energy_predictor;  // dynamic parts of it
  double dram_words = 0;                                     // read and written
  SecondArray second;
  // Per layer, forward and backward together; empty: no second array.
  std::vector<ArrayOverlap> overlaps;
};

// Contract. `batch` fills `out` for one batch; a vector row's cycles stand in its own entry.
// `predicts` says whether the design has a predictor: without, every batch of a run is a plain BP
// batch.
struct Design {
  const char* name;
  const char* about;
  bool predicts;
  bool second_array;
  void (*batch)(std::span<const LayerCost> layers, schedule::Phase phase,
                const Accelerator& accelerator, BatchCost& out);
};

// baseline   backpropagation alone: forward + input gradient + weight gradient + update
extern const Design kBaseline;
// low        layer + load predictor weights + predictor + store, all on one array. Load: the
// weights
//            this layer's prediction uses; a BP batch loads them again to train them. Store: in GP
//            the predicted gradient, in BP the predictor's own gradient. At swap_words_per_cycle,
//            through DRAM.
extern const Design kLow;
// efficient  layer + predictor: a memory of its own keeps the predictor's weights on chip. What
//            does not fit is loaded for each prediction, and in a BP batch loaded again and stored
extern const Design kEfficient;
// max        a second array: step l = max(layer l, predictor of layer l-1), all arrays synchronised
// after
//            each step, and the last predictor alone. A step is a weighted layer with the rows up
//            to the next one. Backward the same in reverse order. Weights that do not fit the
//            memory are moved as in efficient, in the predictor's time.
extern const Design kMax;

// Phases. BP: forward, predictor forward; backward, predictor backward. GP: forward, predictor
// forward, update. Warm-up batches are BP batches.
std::span<const Design* const> designs();
const Design& find_design(const std::string& name);  // UsageError with the nearest name

}  // namespace adagp::accel
