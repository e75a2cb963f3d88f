#include "adagp/sim/accel/explain.h"

#include <sstream>

#include "adagp/base/core/lookup.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/memory.h"
#include "adagp/sim/accel/rtl_machine.h"

namespace adagp::accel {
namespace {

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += "  " + line + "\n";
  return out;
}

std::string percent(double share) {
  return core::fixed(100 * share, 2) + " %";
}

std::string memory_text(const Work& work, const ArrayCost& cost, const Accelerator& a) {
  const MemoryCost memory = memory_cost(work, cost, a);
  return core::cat(
      "buffer words: ifmap ", cost.sram.ifmap, ", filter ", cost.sram.filter, ", ofmap ",
      cost.sram.ofmap, ", sums read back ", cost.sram.sums, "\nDRAM words: input ",
      work.tensors.input, ", filter ",
      cost.filter_kept ? std::string("0 (kept in the PEs)") : std::to_string(work.tensors.filter),
      ", output ", work.tensors.output, "; order '", loop_order_name(memory.order),
      "': ", memory.dram_reads, " read, ", memory.dram_writes, " written; stall cycles ",
      memory.stall_cycles, " (fill ", memory.fill_cycles, ")\n");
}

std::string product_text(const char* title, const Work& work, const Array& array,
                         const Dataflow& dataflow, const Accelerator& a, bool memory) {
  const ArrayCost cost = dataflow.cost(work, array);
  const Gemm& g = work.gemm;
  std::string out =
      core::cat(title, ": M = ", g.m, ", K = ", g.k, ", N = ", g.n, ", groups = ", work.groups,
                "; MACs = M*K*N*groups = ", cost.macs, "\n");
  out += indented(dataflow.explain(work, array));
  out += indented(core::cat("utilisation = MACs / (cycles * PEs) = ", cost.macs, " / (",
                            cost.cycles, " * ", array.pes(),
                            ") = ", percent(utilisation(cost, array)), "; PEs with work ",
                            core::fixed(active_pes(cost), 1), " of ", array.pes()));
  return memory ? out + indented(memory_text(work, cost, a)) : out;
}

// What `transpose` and `array.weight_registers` add to the formulas; "" where they add nothing.
std::string waits_text(size_t layer, const Work& work, const Plan& plan, const Dataflow& dataflow,
                       const Accelerator& a) {
  const ArrayCost cost = dataflow.cost(work, a.array);
  const Transposition turned = transposition(work, cost, dataflow, a);
  std::string out;
  if (turned.words > 0) {
    out += core::cat("transposition (", a.transpose, ") of ", turned.words,
                     " words: ", turned.cycles, " stall cycles\n");
  }
  const auto kept = kept_folds(plan, a);
  if (cost.filter_kept && !kept.empty() && kept[layer] < cost.folds) {
    const int64_t lost = cost.folds - kept[layer];
    out += core::cat("weights of ", lost, " of ", cost.folds, " folds are loaded again: ", lost,
                     " * H = ", mul(lost, a.array.rows), " cycles more\n");
  }
  return out.empty() ? out : indented(out);
}

std::string vector_text(const char* title, int64_t elements, const Accelerator& a) {
  if (elements == 0) return "";
  return core::cat(title, ": ceil(", elements, " elements / ", a.lanes(),
                   " lanes) = ", ceil_div(elements, a.lanes()), " cycles\n");
}

std::string predictor_text(const LayerPlan& layer, const Accelerator& a, const Dataflow& dataflow,
                           const LayerCost& cost) {
  const PredictorPlan& p = layer.predictor;
  std::string out;
  for (const Work& work : a.predictor_full_width ? p.forward_full : p.forward) {
    out += product_text("predictor, forward", work, a.array, dataflow, a, false);
  }
  for (const Work& work : a.predictor_full_width ? p.backward_full : p.backward) {
    out += product_text(work.pass == Pass::kInputGradient ? "predictor, input gradient"
                                                          : "predictor, weight gradient",
                        work, a.array, dataflow, a, false);
  }
  const int64_t layer_time = cost.forward.total();
  const int64_t first = cost.predictor_forward.total();
  const int64_t second = cost.second_forward.total();
  out += core::cat("forward step by design (layer ", layer_time, ", predictor ", first,
                   ", on the second array ", second, "; vector passes and stalls included):\n");
  out += indented(core::cat("efficient: layer + predictor = ", layer_time, " + ", first, " = ",
                            add(layer_time, first)));
  if (cost.reload > 0) {
    out += indented(core::cat("efficient, max: and ", cost.reload,
                              " predictor weights loaded, which predictor.memory_bytes does not "
                              "hold"));
  }
  out +=
      indented(core::cat("low: layer + predictor and ", cost.swap_in, " predictor weights loaded, ",
                         cost.swap_out_predict, " gradients stored (GP)"));
  out += indented(core::cat("max: max(next layer, predictor ", second, ")"));
  return out;
}

}  // namespace

std::string explain(const Plan& plan, const Accelerator& a, const Dataflow& dataflow,
                    const std::string& name) {
  refuse_rtl(a, "single layers");
  const LayerPlan& layer = core::find_named(plan.layers, name, "no layer", " in " + plan.model);
  std::vector<LayerCost> costs;
  evaluate(plan, a, dataflow, Scope::kTraining, costs);
  const auto index = static_cast<size_t>(&layer - plan.layers.data());
  const LayerCost& cost = costs[index];

  std::string out = core::cat(layer.name, " (", layer.op, "), batch ", plan.batch, ", ",
                              dataflow.name, " on ", a.array.rows, "x", a.array.columns,
                              " (H x W); M, K, N are those of each product\n");
  if (layer.product) {
    out += product_text("forward, Y = X W", layer.forward, a.array, dataflow, a, true);
    if (layer.input_gradient) {
      out += product_text("input gradient, dX = dY W^T", *layer.input_gradient, a.array, dataflow,
                          a, true);
      out += waits_text(index, *layer.input_gradient, plan, dataflow, a);
    }
    if (layer.weight_gradient) {
      out += product_text(layer.op == "matmul" ? "second input gradient, dW = X^T dY"
                                               : "weight gradient, dW = X^T dY",
                          *layer.weight_gradient, a.array, dataflow, a, true);
      out += waits_text(index, *layer.weight_gradient, plan, dataflow, a);
    }
  }
  out += vector_text("vector passes, forward", layer.vector_forward, a);
  out += vector_text("vector passes, backward", layer.vector_backward, a);
  out += vector_text("update (BP)", layer.update_backprop, a);
  out += vector_text("update (GP)", layer.update_predict, a);
  if (layer.weighted) out += predictor_text(layer, a, dataflow, cost);
  return out;
}

}  // namespace adagp::accel
