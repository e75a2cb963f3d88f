#include "adagp/sim/accel/rtl_machine.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::accel {

bool is_rtl(const Accelerator& accelerator) {
  return accelerator.machine == "rtl";
}

void refuse_rtl(const Accelerator& accelerator, const char* what) {
  if (!is_rtl(accelerator)) return;
  throw UsageError(core::cat("accelerator '", accelerator.name,
                             "' counts whole training batches of the "
                             "machine in rtl/, not ",
                             what, "; 'adagp rtl layers' shows its layers beside the formulas"));
}

rtl::Machine rtl_machine(const Accelerator& accelerator, const Design& design) {
  rtl::Machine out;
  const Array second = accelerator.second_array();
  out.design = rtl::design_named(design.name);
  out.pred_three_modes = out.has_predictor_array();  // or its predictor could not learn
  for (const auto& [from, to] : {std::pair{accelerator.array.rows, &out.rows},
                                 {accelerator.array.columns, &out.cols},
                                 {second.rows, &out.pred_rows},
                                 {second.columns, &out.pred_cols},
                                 {accelerator.rtl.x_bits, &out.x_bits},
                                 {accelerator.rtl.y_bits, &out.y_bits},
                                 {accelerator.rtl.w_bits, &out.w_bits},
                                 {accelerator.rtl.predictor_bits, &out.predictor_bits},
                                 {accelerator.rtl.descriptor_bits, &out.descriptor_bits}}) {
    *to = static_cast<int>(from);
  }
  rtl::check(out);
  return out;
}

rtl::Network rtl_network(const Plan& plan) {
  rtl::Network out{core::cat(plan.model, ", ", plan.input), plan.batch, {}};
  for (const LayerPlan& layer : plan.layers) {
    if (!layer.product) continue;
    if (!layer.weighted) {
      throw UsageError(core::cat("row '", layer.name,
                                 "': the machine in rtl/ multiplies with weights, "
                                 "and this is a product of two activations"));
    }
    const Work& work = layer.forward;
    rtl::LayerProduct product{
        layer.name,  work.groups,     work.gemm.m,     work.gemm.k,
        work.gemm.n, work.conv.out_h, work.conv.out_w, layer.input_gradient.has_value()};
    if (product.height * product.width * plan.batch != product.m) {
      product.height = 1;
      product.width = product.m / plan.batch;
    }
    out.layers.push_back(product);
  }
  return out;
}

Energy rtl_energy(const rtl::Machine& machine, const rtl::Counts& counts,
                  const Accelerator& accelerator) {
  const EnergyTable& table = accelerator.energy;
  const auto count = [](std::uint64_t events, int words) {
    return static_cast<double>(events) * words;
  };
  const int pes_main = machine.rows * machine.cols,
            pes_pred = machine.pred_rows * machine.pred_cols;
  const double macs = count(counts.main_rows, pes_main) + count(counts.pred_rows, pes_pred);
  const double hops = 2 * macs + count(counts.main_weight_rows + counts.main_drain_rows, pes_main) +
                      count(counts.pred_weight_rows + counts.pred_drain_rows, pes_pred);
  // Words of rows that the vector and the reorganisation unit read and write.
  const double beside = count(counts.vec_beats + counts.reorg_beats, machine.rows);
  const double updated = count(counts.update_rows, machine.rows);
  const double reads = count(counts.main_rows, machine.rows + machine.cols) +
                       count(counts.main_weight_rows, machine.rows) +
                       count(counts.pred_rows, machine.pred_rows + machine.pred_cols) +
                       count(counts.pred_weight_rows, machine.pred_rows) + beside + 2 * updated +
                       count(counts.dma_store_beats, machine.lanes());
  const double writes = count(counts.main_rows + counts.main_drain_rows, machine.rows) +
                        count(counts.pred_rows + counts.pred_drain_rows, machine.pred_rows) +
                        beside + 2 * updated + count(counts.dma_load_beats, machine.lanes());
  const double words = count(counts.dma_load_beats + counts.dma_store_beats, machine.lanes());
  constexpr double kPico = 1e-12;
  Energy out;
  out.mac = macs * table.mac_pj * kPico;
  out.registers = macs * table.register_read_pj * kPico;
  out.array = hops * table.hop_pj * kPico;
  out.buffer = (reads * table.buffer_read_pj + writes * table.buffer_write_pj) * kPico;
  out.dram =
      words * 8 * static_cast<double>(accelerator.word_bytes) * table.dram_pj_per_bit * kPico;
  out.vector = beside * table.vector_op_pj * kPico;
  const int64_t pes =
      int64_t{machine.rows} * machine.cols +
      (machine.has_predictor_array() ? int64_t{machine.pred_rows} * machine.pred_cols : 0);
  out += leakage_energy(static_cast<int64_t>(counts.cycles), pes, accelerator);
  return out;
}

void rtl_batch(const Plan& plan, const Accelerator& accelerator, const Design& design,
               schedule::Phase phase, BatchCost& out) {
  const rtl::Machine machine = rtl_machine(accelerator, design);
  const rtl::NetworkProgram program = rtl::make_program(machine, rtl_network(plan));
  const rtl::Phase which = phase == schedule::Phase::kPredict ? rtl::Phase::kGp : rtl::Phase::kBp;
  const rtl::LayerCycles cycles = rtl::layer_cycles(machine, program, which);
  out.forward.assign(plan.layers.size(), {});
  out.backward.assign(plan.layers.size(), {});
  size_t next = 0;
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    if (!plan.layers[l].product) continue;
    out.forward[l].array = static_cast<int64_t>(cycles.forward[next]);
    out.backward[l].array = static_cast<int64_t>(cycles.backward[next]);
    ++next;
    out.cycles += out.forward[l];
    out.cycles += out.backward[l];
  }
  out.energy =
      rtl_energy(machine, rtl::predict_batch(machine, program.program, which), accelerator);
}

}  // namespace adagp::accel
