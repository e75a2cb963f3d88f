#pragma once
// What each layer of a plan costs on an accelerator: the input of the designs.

#include <cstdint>
#include <vector>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/dataflow/dataflow.h"
#include "adagp/sim/accel/energy.h"
#include "adagp/sim/accel/memory.h"
#include "adagp/sim/accel/operands.h"
#include "adagp/sim/accel/plan.h"

namespace adagp::accel {

// One pass (or a sum of passes).
struct PassCost {
  int64_t array = 0;   // compute cycles of products
  int64_t vector = 0;  // cycles of vector passes: ceil(elements / lanes) per row
  int64_t stall = 0;   // waiting for memory
  int64_t macs = 0;
  SramWords sram;
  int64_t dram_reads = 0, dram_writes = 0;  // words
  Energy energy;  // without leakage, which the designs add: it depends on their time

  int64_t total() const;  // array + vector + stall
  PassCost& operator+=(const PassCost& other);
};

struct LayerCost {
  PassCost forward;
  PassCost input_gradient;
  PassCost weight_gradient;  // of a matmul: its second input gradient
  PassCost update_backprop;  // parameters
  PassCost update_predict;
  PassCost vector_backward;
  // The predictor on the layer's own array and on the second one.
  PassCost predictor_forward, predictor_backward;
  PassCost second_forward, second_backward;
  int64_t swap_in = 0, swap_out_backprop = 0, swap_out_predict = 0;  // words design low moves
  int64_t reload = 0;  // words that efficient and max load each time: beyond the predictor's memory
  bool weighted = false;

  PassCost backward() const;  // input, weight and vector gradients, and the BP update
};

// Off-chip traffic. Products: memory.h. Vector passes other than updates work on what is on chip.
// An update reads and writes what Plan::update says (and, in BP, reads the gradients, which the
// weight gradient wrote). The predictor's weights and samples are on chip; the designs pay for what
// they move of them.

// One product with memory, energy and transposition. Of the operands an array sees `kept_folds`.
PassCost product_cost(const Work& work, const Array& array, const Dataflow& dataflow,
                      const Accelerator& accelerator, const Operands& operands = {});
PassCost vector_cost(int64_t elements, const Accelerator& accelerator);
PassCost vector_cost(int64_t elements, const Accelerator& accelerator, int64_t lanes);

// What the products of a plan cost. An array knows their shapes alone; machines (sim/arrays) see
// the operands of each layer, too.
class Products {
 public:
  virtual ~Products() = default;
  // A product of this layer of the plan.
  virtual PassCost layer(size_t layer, const Work& work) const = 0;
  // A product of the predictor, its operands and results on chip; `second`: on the second array of
  // design max.
  virtual PassCost predictor(const Work& work, bool second) const = 0;
  // Layers of equal shapes cost the same.
  virtual bool shapes_alone() const { return false; }
};

// Of each layer the folds whose weights are still in the PEs of an in-place array when its input
// gradient begins: array.weight_registers of the last folds of the forward pass. Empty: all of
// them.
std::vector<int64_t> kept_folds(const Plan& plan, const Accelerator& accelerator);

// What evaluate() computes: the forward pass; the backward pass too; the predictor too.
enum class Scope { kInference, kBackprop, kTraining };
// One entry per layer of the plan. Throws DataError naming the layer when a number leaves 64 bits.
void evaluate(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow,
              Scope scope, std::vector<LayerCost>& out);
void evaluate(const Plan& plan, const Accelerator& accelerator, const Products& products,
              Scope scope, std::vector<LayerCost>& out);

}  // namespace adagp::accel
