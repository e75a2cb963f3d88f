#include "adagp/accel/cost.h"

#include "adagp/accel/checked_math.h"

namespace adagp::accel {
namespace {

// The predictor's operands and results are on chip.
PassCost on_chip_cost(const std::vector<Work>& works, const Array& array, const Dataflow& dataflow,
                      const Accelerator& accelerator) {
  PassCost sum;
  for (Work work : works) {
    work.tensors = {};
    sum += product_cost(work, array, dataflow, accelerator);
  }
  return sum;
}

// `reads` and `writes` of every element pass the off-chip interface beside the vector pass.
PassCost update_cost(int64_t elements, int64_t reads, const Accelerator& accelerator) {
  PassCost cost = vector_cost(elements, accelerator);
  cost.dram_reads = mul(elements, reads);
  cost.dram_writes = elements;
  const int64_t words = add(cost.dram_reads, cost.dram_writes);
  cost.energy += transfer_energy(cost.dram_reads, cost.dram_writes, accelerator);
  const double bytes = static_cast<double>(words) * static_cast<double>(accelerator.word_bytes);
  cost.stall = bandwidth_stall(cost.vector, bytes, accelerator.dram_bytes_per_cycle);
  return cost;
}

void evaluate_predictor(const PredictorPlan& plan, const Accelerator& a, const Dataflow& dataflow,
                        LayerCost& out) {
  const auto& forward = a.predictor_full_width ? plan.forward_full : plan.forward;
  const auto& backward = a.predictor_full_width ? plan.backward_full : plan.backward;
  const int64_t mean = a.predictor_reorganise ? plan.reorganised : 0;
  const auto side = [&](const Array& array, int64_t lanes, PassCost& fw, PassCost& bw) {
    fw = on_chip_cost(forward, array, dataflow, a);
    fw += vector_cost(add(mean, plan.vector_forward), a, lanes);
    bw = on_chip_cost(backward, array, dataflow, a);
    bw += vector_cost(plan.vector_backward, a, lanes);
  };
  side(a.array, a.lanes(), out.predictor_forward, out.predictor_backward);
  const Array second = a.second_array();
  side(second, second.pes(), out.second_forward, out.second_backward);
  out.swap_in = out.swap_out_backprop = a.predictor_full_width ? plan.weights_full : plan.weights;
}

void evaluate_layer(const LayerPlan& layer, const Accelerator& a, const Dataflow& dataflow,
                    Scope scope, LayerCost& out) {
  out.weighted = layer.weighted;
  if (layer.product) out.forward = product_cost(layer.forward, a.array, dataflow, a);
  out.forward += vector_cost(layer.vector_forward, a);
  if (scope == Scope::kInference) return;

  if (layer.input_gradient) {
    out.input_gradient = product_cost(*layer.input_gradient, a.array, dataflow, a);
  }
  if (layer.weight_gradient) {
    out.weight_gradient = product_cost(*layer.weight_gradient, a.array, dataflow, a);
  }
  out.vector_backward = vector_cost(layer.vector_backward, a);
  out.update_backprop = update_cost(layer.update_backprop, 2, a);
  out.update_predict = update_cost(layer.update_predict, 1, a);
  if (!layer.weighted || scope == Scope::kBackprop) return;
  evaluate_predictor(layer.predictor, a, dataflow, out);
  out.swap_out_predict = layer.forward.tensors.filter;
}

}  // namespace

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
                      const Accelerator& accelerator) {
  const ArrayCost cost = dataflow.cost(work, array);
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
  out.assign(plan.layers.size(), LayerCost{});
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const size_t same = plan.layers[i].same_as;
    if (same < i) {
      out[i] = out[same];
      continue;
    }
    try {
      evaluate_layer(plan.layers[i], accelerator, dataflow, scope, out[i]);
    } catch (const Overflow& e) {
      throw DataError("layer '" + plan.layers[i].name + "': " + e.what());
    }
  }
}

}  // namespace adagp::accel
