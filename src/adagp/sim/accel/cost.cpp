#include "adagp/sim/accel/cost.h"

#include <algorithm>
#include <cmath>

#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/memory.h"

namespace adagp::accel {
namespace {

// A systolic array with a dataflow.
class ArrayProducts : public Products {
 public:
  ArrayProducts(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow)
      : accelerator_(accelerator), dataflow_(dataflow) {
    if (&dataflow == &kInPlaceTransposed) kept_folds_ = kept_folds(plan, accelerator);
  }

  PassCost layer(size_t layer, const Work& work) const override {
    Operands operands;
    if (!kept_folds_.empty()) operands.kept_folds = kept_folds_[layer];
    return product_cost(work, accelerator_.array, dataflow_, accelerator_, operands);
  }
  PassCost predictor(const Work& work, bool second) const override {
    const Array array = second ? accelerator_.second_array() : accelerator_.array;
    return product_cost(work, array, dataflow_, accelerator_);
  }
  bool shapes_alone() const override { return kept_folds_.empty(); }

 private:
  const Accelerator& accelerator_;
  const Dataflow& dataflow_;
  std::vector<int64_t> kept_folds_;  // empty: of all
};

// The predictor's operands and results are on chip.
PassCost on_chip_cost(const std::vector<Work>& works, const Products& products, bool second) {
  PassCost sum;
  for (Work work : works) {
    work.tensors = {};
    sum += products.predictor(work, second);
  }
  return sum;
}

// The weights of folds that were not kept are loaded again.
void load_lost_folds(const Work& work, const Array& array, int64_t kept, ArrayCost& cost) {
  const int64_t lost = std::max<int64_t>(0, cost.folds - kept);
  if (lost == 0) return;
  cost.cycles = add(cost.cycles, mul(lost, array.rows));
  const double share = static_cast<double>(lost) / static_cast<double>(cost.folds);
  const int64_t words = mul(work.groups, work.gemm.k, work.gemm.n);
  cost.sram.filter = add(cost.sram.filter, std::llround(share * static_cast<double>(words)));
  cost.filter_kept = false;
}

// What the update of every element moves passes the off-chip interface beside the vector pass.
PassCost update_cost(int64_t elements, const UpdateWords& words_of_each, int64_t gradient,
                     const Accelerator& accelerator) {
  PassCost cost = vector_cost(elements, accelerator);
  cost.dram_reads = mul(elements, add(words_of_each.reads, gradient));
  cost.dram_writes = mul(elements, words_of_each.writes);
  const int64_t words = add(cost.dram_reads, cost.dram_writes);
  cost.energy += transfer_energy(static_cast<double>(cost.dram_reads),
                                 static_cast<double>(cost.dram_writes), accelerator);
  const double bytes = static_cast<double>(words) * static_cast<double>(accelerator.word_bytes);
  cost.stall = bandwidth_stall(cost.vector, bytes, accelerator.dram_bytes_per_cycle);
  return cost;
}

void evaluate_predictor(const PredictorPlan& plan, const Accelerator& a, const Products& products,
                        LayerCost& out) {
  const auto& forward = a.predictor_full_width ? plan.forward_full : plan.forward;
  const auto& backward = a.predictor_full_width ? plan.backward_full : plan.backward;
  const int64_t mean = a.predictor_reorganise ? plan.reorganised : 0;
  const auto side = [&](bool second, int64_t lanes, PassCost& fw, PassCost& bw) {
    fw = on_chip_cost(forward, products, second);
    fw += vector_cost(add(mean, plan.vector_forward), a, lanes);
    bw = on_chip_cost(backward, products, second);
    bw += vector_cost(plan.vector_backward, a, lanes);
  };
  side(false, a.lanes(), out.predictor_forward, out.predictor_backward);
  side(true, a.second_array().pes(), out.second_forward, out.second_backward);
  out.swap_in = out.swap_out_backprop = a.predictor_full_width ? plan.weights_full : plan.weights;
  out.reload = a.words_beyond_memory(out.swap_in);
}

void evaluate_layer(const Plan& plan, size_t index, const Accelerator& a, const Products& products,
                    Scope scope, LayerCost& out) {
  const LayerPlan& layer = plan.layers[index];
  out.weighted = layer.weighted;
  if (layer.product) out.forward = products.layer(index, layer.forward);
  out.forward += vector_cost(layer.vector_forward, a);
  if (scope == Scope::kInference) return;

  if (layer.input_gradient) {
    out.input_gradient = products.layer(index, *layer.input_gradient);
  }
  if (layer.weight_gradient) {
    out.weight_gradient = products.layer(index, *layer.weight_gradient);
  }
  out.vector_backward = vector_cost(layer.vector_backward, a);
  out.update_backprop = update_cost(layer.update_backprop, plan.update, 1, a);
  out.update_predict = update_cost(layer.update_predict, plan.update, 0, a);
  if (!layer.weighted || scope == Scope::kBackprop) return;
  evaluate_predictor(layer.predictor, a, products, out);
  out.swap_out_predict = layer.forward.tensors.filter;
}

}  // namespace

std::vector<int64_t> kept_folds(const Plan& plan, const Accelerator& accelerator) {
  std::vector<int64_t> kept;
  int64_t free_registers = accelerator.array.weight_registers;
  if (free_registers == 0) return kept;
  kept.assign(plan.layers.size(), 0);
  for (size_t i = plan.layers.size(); i-- > 0 && free_registers > 0;) {
    if (!plan.layers[i].product) continue;
    const int64_t folds = kInPlaceTransposed.cost(plan.layers[i].forward, accelerator.array).folds;
    kept[i] = std::min(free_registers, folds);
    free_registers -= kept[i];
  }
  return kept;
}

int64_t PassCost::total() const {
  return add(array, vector, stall);
}

PassCost& PassCost::operator+=(const PassCost& other) {
  array = add(array, other.array);
  vector = add(vector, other.vector);
  stall = add(stall, other.stall);
  macs = add(macs, other.macs);
  sram.ifmap = add(sram.ifmap, other.sram.ifmap);
  sram.filter = add(sram.filter, other.sram.filter);
  sram.ofmap = add(sram.ofmap, other.sram.ofmap);
  sram.sums = add(sram.sums, other.sram.sums);
  dram_reads = add(dram_reads, other.dram_reads);
  dram_writes = add(dram_writes, other.dram_writes);
  energy += other.energy;
  return *this;
}

PassCost LayerCost::backward() const {
  PassCost sum = input_gradient;
  sum += weight_gradient;
  sum += vector_backward;
  sum += update_backprop;
  return sum;
}

PassCost product_cost(const Work& work, const Array& array, const Dataflow& dataflow,
                      const Accelerator& accelerator, const Operands& operands) {
  ArrayCost cost = dataflow.cost(work, array);
  if (cost.filter_kept && operands.kept_folds) {
    load_lost_folds(work, array, *operands.kept_folds, cost);
  }
  const MemoryCost memory = memory_cost(work, cost, accelerator);
  PassCost out;
  out.array = cost.cycles;
  out.stall = memory.stall_cycles;
  out.macs = cost.macs;
  out.sram = cost.sram;
  out.dram_reads = memory.dram_reads;
  out.dram_writes = memory.dram_writes;
  out.energy =
      product_energy(work, cost, memory.dram_reads, memory.dram_writes, dataflow, accelerator);
  const Transposition turned = transposition(work, cost, dataflow, accelerator);
  out.stall = add(out.stall, turned.cycles);
  out.energy.buffer += turned.energy;
  return out;
}

PassCost vector_cost(int64_t elements, const Accelerator& accelerator) {
  return vector_cost(elements, accelerator, accelerator.lanes());
}

PassCost vector_cost(int64_t elements, const Accelerator& accelerator, int64_t lanes) {
  PassCost out;
  if (elements == 0) return out;
  out.vector = ceil_div(elements, lanes);
  out.energy = vector_energy(elements, accelerator);
  return out;
}

void evaluate(const Plan& plan, const Accelerator& accelerator, const Dataflow& dataflow,
              Scope scope, std::vector<LayerCost>& out) {
  evaluate(plan, accelerator, ArrayProducts(plan, accelerator, dataflow), scope, out);
}

void evaluate(const Plan& plan, const Accelerator& accelerator, const Products& products,
              Scope scope, std::vector<LayerCost>& out) {
  out.assign(plan.layers.size(), LayerCost{});
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const size_t same = plan.layers[i].same_as;
    if (same < i && products.shapes_alone()) {
      out[i] = out[same];
      continue;
    }
    try {
      evaluate_layer(plan, i, accelerator, products, scope, out[i]);
    } catch (const Overflow& e) {
      throw DataError("layer '" + plan.layers[i].name + "': " + e.what());
    }
  }
}

}  // namespace adagp::accel
