#pragma once
// `adagp simulate --machine`: a network on another training accelerator, compared with the same
// accelerator without its trick, then ADA-GP on top.

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "adagp/papers/study/study.h"
#include "adagp/sim/accel/simulate.h"
#include "adagp/sim/arrays/lifetimes.h"
#include "adagp/sim/arrays/machine.h"

namespace adagp::study {

struct MachineOptions {
  std::string machine;
  std::string trace;     // a run folder or one trace file
  std::string sparsity;  // "x=0.5,dy=0,w=0.9"
  std::string bits;      // "w=2,a=2,g=4"
};

// Cycles of products without the trick and with it, and energies in J, of all and of multipliers
// alone.
struct PassPair {
  double base = 0, cycles = 0, base_energy = 0, energy = 0, base_compute = 0, compute = 0;

  // 1 where there is nothing to do, infinite where the trick leaves nothing to do.
  double speedup() const {
    if (cycles > 0) return base / cycles;
    return base > 0 ? std::numeric_limits<double>::infinity() : 1;
  }
  PassPair& operator+=(const PassPair& other);
};

inline constexpr std::array kPassNames = {"forward", "input gradient", "weight gradient"};
using PassPairs = std::array<PassPair, 3>;
PassPair sum_of(const PassPairs& passes);

struct MachineLayer {
  std::string name;
  PassPairs passes;  // mean over epochs
};

struct MachineEpoch {
  int64_t epoch = 0;
  PassPairs passes;
  std::vector<PassPairs> layers;  // as MachineResult::layers
};

// ADA-GP on the machine.
struct MachineDesign {
  std::string name;
  double speedup = 1;           // over backprop on the machine, with what else a batch has
  double speedup_products = 1;  // the same, of products alone
  double law = 1;               // the closed form for products
  double together = 1;          // over backprop without the trick, products alone
};

struct MachineMemory {
  arrays::Timeline timeline;
  int64_t cycles = 0;  // of a batch
  arrays::EdramCost cost;
  std::vector<double> lifetimes_us;  // of the tensors, longest first
};

struct MachineResult {
  const arrays::Machine* machine = nullptr;
  std::string model, input, accelerator, source;
  int64_t batch = 1, examples = 0;   // examples: of a trace
  PassPairs passes;                  // of a BP batch, mean over epochs
  double equal_area_cycles = 0;      // products on plain MACs of equal area; 0: not modelled
  PassPair recomputed;               // reversible training computes forward passes again
  double total_base = 0, total = 0;  // cycles of a BP batch with vector passes and stalls
  double alpha = 0;                  // the predictor's forward pass over the dense forward pass
  double alpha_backward = 0;         // its backward pass, which the law takes to be 2 alpha
  double predicted_share = 0;        // of the run's batches
  double standard_error = 0;         // of the speed-up over a trace's examples, in its last epoch
  std::vector<MachineLayer> layers;
  std::vector<MachineEpoch> epochs;  // of a trace
  std::vector<MachineDesign> designs;
  std::vector<MachineMemory> memory;  // of machine camel
  double retention_us = 0;
  std::vector<std::string> remarks;

  // Of the products of a BP batch over plain MACs of equal area; 0: not modelled.
  double equal_area_speedup() const;
  // Products of a BP batch; of machine camel with recomputation and the energy of its eDRAM.
  PassPair bp_batch() const;
};

// One network, one batch size. Throws UsageError for flags that do not fit the machine, DataError
// for traces that do not fit the network.
MachineResult run_machine(Options options, const MachineOptions& machine);

// Machine camel: lifetimes of tensors beside the retention time. Others: speed-ups by layer.
std::string machine_picture(const MachineResult& result);
std::string machine_text(const MachineResult& result, bool per_layer);
std::string machine_json(const MachineResult& result, bool per_layer);

// The field's other training accelerators in one table (`adagp paper --systems`): each alone,
// ADA-GP on top, and the published figures beside them.

struct SystemsOptions {
  std::string models = "vgg13_bn,vgg13,resnet50";
  std::string input = "imagenet";
  int64_t batch = 128;
  int64_t epochs = 90;
  bool vector_passes = false;
};

struct SystemRow {
  MachineResult result;
  std::string setting;    // operands, in words
  std::string published;  // as printed there; "" where nothing comparable was found
};

std::vector<SystemRow> compare_systems(const SystemsOptions& options);
std::string systems_text(const std::vector<SystemRow>& rows);
std::string systems_json(const std::vector<SystemRow>& rows);

}  // namespace adagp::study
