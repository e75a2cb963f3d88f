#pragma once
// How a product is laid over the array. A file per dataflow (systolic.cpp: three), one line in
// dataflow/registry.cpp.

#include <cstdint>
#include <span>
#include <string>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/work.h"

namespace adagp::accel {

// Words between buffer and array.
struct SramWords {
  int64_t ifmap = 0;   // reads of the left operand
  int64_t filter = 0;  // reads of the right operand
  int64_t ofmap = 0;   // writes of results and partial sums
  int64_t sums = 0;    // reads of partial sums written before (SCALE-Sim does not count them)

  int64_t total() const;  // checked
};

struct ArrayCost {
  int64_t cycles = 0;  // demand cycles: from the first word in to the last result out, of all folds
  int64_t folds = 0;   // times the array is filled
  int64_t stream = 0;  // cycles of a fold in which every PE in use works: M, N, K or S*F
  int64_t macs = 0;
  SramWords sram;
  bool filter_kept =
      false;  // the right operand is still in the PEs: neither buffer nor DRAM is read
};

// macs / (cycles * PEs), 0..1. SCALE-Sim divides by cycles - 1 (scalesim.h).
double utilisation(const ArrayCost& cost, const Array& array);
// Mean number of PEs with work in a fold: macs / (folds * stream).
double active_pes(const ArrayCost& cost);
// active_pes / PEs.
double mapping_efficiency(const ArrayCost& cost, const Array& array);

// What one MAC costs inside the array, for the energy model. A hop includes the latch it ends in,
// so a systolic MAC has one register read (the stationary operand) and two hops; os has a sum that
// is read and written and two hops; rs reads two operands and a sum, writes the sum, and sends it
// on once per S MACs.
struct MacAccesses {
  double register_reads = 0;
  double register_writes = 0;
  double hops = 0;
};

// Contract. `cost` is a pure function; cycles, folds and words cover all groups of the work; every
// word of each operand is counted at least once (but in-place's kept weights); macs = groups*m*k*n
// exactly. Throws Overflow beyond 64 bits. `explain` writes the formula, then the same formula with
// the numbers in it, one line each.
struct Dataflow {
  const char* name;
  const char* about;
  ArrayCost (*cost)(const Work& work, const Array& array);
  std::string (*explain)(const Work& work, const Array& array);
  MacAccesses (*per_mac)(const Work& work);
};

// Folds of H x W PEs; SCALE-Sim's systolic arrays:
//   ws  rows K, columns N, stream M: per fold M + 2H + W - 2, folds ceil(K/H)*ceil(N/W)
//       words ifmap M*K*ceil(N/W), filter K*N, ofmap M*N*ceil(K/H)
extern const Dataflow kWeightStationary;
//   is  rows K, columns M, stream N: N + 2H + W - 2, ceil(K/H)*ceil(M/W)
//       words M*K, K*N*ceil(M/W), M*N*ceil(K/H)
extern const Dataflow kInputStationary;
//   os  rows M, columns N, stream K: K + H + W - 2, ceil(M/H)*ceil(N/W)
//       words M*K*ceil(N/W), K*N*ceil(M/H), M*N
extern const Dataflow kOutputStationary;
//   rs  Eyeriss' row stationary as nn_dataflow maps it (row_stationary.h has the formulas)
extern const Dataflow kRowStationary;
//   in-place  nothing is transposed in memory, and weights loaded for the forward pass serve the
//   input
//       gradient: rows N, columns K of the layer. Needs PEs that keep their weight of every fold of
//       every layer from the forward to the backward pass. Forward M + 2H + W - 2 (H of it loads),
//       input gradient M + H + W - 2 (no load; the weights pass neither buffer nor DRAM), weight
//       gradient M + H + W - 2 (accumulators stay); folds ceil(N/H)*ceil(K/W) in all three
extern const Dataflow kInPlaceTransposed;

// The table, in the order above.
std::span<const Dataflow* const> dataflows();
// Throws UsageError with the nearest name.
const Dataflow& find_dataflow(const std::string& name);

}  // namespace adagp::accel
