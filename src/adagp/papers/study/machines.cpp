#include "adagp/papers/study/machines.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/machine_costs.h"
#include "adagp/papers/study/output.h"
#include "adagp/results/report/summary.h"
#include "adagp/sim/accel/rtl_machine.h"
#include "adagp/sim/arrays/given.h"
#include "adagp/sim/arrays/law.h"
#include "adagp/sim/arrays/trace.h"

namespace adagp::study {
namespace {

using accel::LayerCost;
using accel::PassCost;
using arrays::LayerOperands;

// Bytes of a value in CAMEL's groups of nine: 58 bits.
constexpr double kCamelBytes = 58.0 / 9 / 8;

// A product with its waits for memory and for operands that are turned; no vector passes.
double product_cycles(const PassCost& cost) {
  return static_cast<double>(cost.array) + static_cast<double>(cost.stall);
}

double product_cycles(const accel::Cycles& cycles) {
  return static_cast<double>(cycles.compute()) + static_cast<double>(cycles.stall);
}

PassPair pair_of(const PassCost& base, const PassCost& ours) {
  return {product_cycles(base), product_cycles(ours), base.energy.total(),
          ours.energy.total(),  base.energy.mac,      ours.energy.mac};
}

PassPairs pairs_of(const LayerCost& base, const LayerCost& ours) {
  return {pair_of(base.forward, ours.forward), pair_of(base.input_gradient, ours.input_gradient),
          pair_of(base.weight_gradient, ours.weight_gradient)};
}

void add_pairs(PassPairs& sum, const PassPairs& more) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

double batch_total(const std::vector<LayerCost>& layers) {
  double sum = 0;
  for (const LayerCost& layer : layers) {
    sum +=
        static_cast<double>(layer.forward.total()) + static_cast<double>(layer.backward().total());
  }
  return sum;
}

// Reversible training computes the forward pass of what it trains a second time.
void add_recomputation(const accel::Plan& plan, std::vector<LayerCost>& layers,
                       MachineResult& result) {
  for (size_t i = 0; i < layers.size(); ++i) {
    if (plan.layers[i].frozen) continue;
    result.recomputed += pair_of({}, layers[i].forward);
    layers[i].vector_backward += layers[i].forward;
  }
}

arrays::RowTimes times_of(const accel::BatchCost& batch) {
  arrays::RowTimes times;
  for (const accel::Cycles& row : batch.forward) times.forward.push_back(row.total());
  for (const accel::Cycles& row : batch.backward) times.backward.push_back(row.total());
  return times;
}

void add_memory(const accel::Point& point, const std::vector<LayerCost>& plain,
                MachineResult& result) {
  result.retention_us = point.accelerator.edram.retention_us;
  accel::BatchCost exact, predicted;
  accel::kBaseline.batch(plain, schedule::Phase::kBackprop, point.accelerator, exact);
  accel::kEfficient.batch(plain, schedule::Phase::kPredict, point.accelerator, predicted);
  using arrays::Timeline;
  for (const Timeline kind : {Timeline::kBackprop, Timeline::kReversible, Timeline::kPredict}) {
    const auto times = times_of(kind == Timeline::kPredict ? predicted : exact);
    const auto stored =
        arrays::stored_tensors(*point.plan, times, kind, point.accelerator.edram.block_layers);
    MachineMemory& memory = result.memory.emplace_back();
    memory.timeline = kind;
    memory.cycles = stored.cycles;
    memory.cost = arrays::edram_cost(stored, point.accelerator, kCamelBytes);
    for (const arrays::StoredTensor& one : stored.tensors) {
      memory.lifetimes_us.push_back(static_cast<double>(one.lifetime()) /
                                    point.accelerator.clock_mhz);
    }
    std::sort(memory.lifetimes_us.begin(), memory.lifetimes_us.end(), std::greater<>());
  }
}

void add_designs(const accel::Point& point, const MachineCosts& costs, MachineResult& result) {
  double dense_forward = 0, predictor = 0, learning = 0;
  for (size_t i = 0; i < costs.base.size(); ++i) {
    dense_forward += product_cycles(costs.base[i].forward);
    predictor += product_cycles(costs.ours[i].predictor_forward);
    learning += product_cycles(costs.ours[i].predictor_backward);
  }
  result.alpha = predictor / dense_forward;
  result.alpha_backward = learning / dense_forward;
  const accel::PhaseBatches batches = accel::count_batches(point.run);
  result.predicted_share =
      static_cast<double>(batches.predict) /
      static_cast<double>(batches.warm_up + batches.backprop + batches.predict);
  const auto relative = [&](size_t pass) { return result.passes[pass].cycles / dense_forward; };
  const arrays::RelativePasses c{
      relative(0), relative(1) + result.recomputed.cycles / dense_forward, relative(2)};
  const accel::DesignResult baseline =
      accel::run_design(accel::kBaseline, costs.ours, point.accelerator, point.run);
  const accel::DesignResult plain =
      accel::run_design(accel::kBaseline, costs.base, point.accelerator, point.run);
  for (const accel::Design* design : point.designs) {
    const accel::DesignResult one =
        accel::run_design(*design, costs.ours, point.accelerator, point.run);
    const double products = product_cycles(one.cycles);
    // Design max hides the predictor: its law is that of one that costs nothing.
    const double alpha = design->second_array ? 0 : result.alpha;
    MachineDesign& out = result.designs.emplace_back();
    out.name = design->name;
    out.speedup =
        static_cast<double>(baseline.cycles.total()) / static_cast<double>(one.cycles.total());
    out.speedup_products = product_cycles(baseline.cycles) / products;
    out.together = product_cycles(plain.cycles) / products;
    if (design->predicts) out.law = arrays::combined_speedup(c, alpha, result.predicted_share);
  }
}

void collect(const layers::Table& table, const MachineCosts& epoch, std::vector<PassPairs>& layers,
             PassPairs& all) {
  layers.clear();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (!layers::is_product(table.rows[i])) continue;
    layers.push_back(pairs_of(epoch.base[i], epoch.ours[i]));
    add_pairs(all, layers.back());
  }
}

// Of the speed-up in the last epoch, from each example alone.
void add_standard_error(const arrays::Machine& machine, const accel::Point& point,
                        const layers::Table& table, const arrays::Trace& trace,
                        MachineResult& result) {
  if (trace.examples < 2) return;
  const auto count = static_cast<double>(trace.examples);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < trace.examples; ++i) {
    const arrays::Trace alone = arrays::one_example(trace, i);
    const MachineCosts costs = machine_costs(machine, point.accelerator, table, *point.plan,
                                             arrays::operands_of(table, alone, machine.reads));
    std::vector<PassPairs> layers;
    PassPairs all;
    collect(table, costs, layers, all);
    const double speedup = sum_of(all).speedup();
    sum += speedup;
    squares += speedup * speedup;
  }
  const double variance = std::max(0.0, squares - sum * sum / count) / (count - 1);
  result.standard_error = std::sqrt(variance / count);
}

}  // namespace

PassPair& PassPair::operator+=(const PassPair& other) {
  base += other.base;
  cycles += other.cycles;
  base_energy += other.base_energy;
  energy += other.energy;
  base_compute += other.base_compute;
  compute += other.compute;
  return *this;
}

PassPair sum_of(const PassPairs& passes) {
  PassPair sum;
  for (const PassPair& pass : passes) sum += pass;
  return sum;
}

double MachineResult::equal_area_speedup() const {
  return equal_area_cycles / sum_of(passes).cycles;
}

PassPair MachineResult::bp_batch() const {
  PassPair sum = sum_of(passes);
  sum += recomputed;
  for (const MachineMemory& one : memory) {
    if (one.timeline == arrays::Timeline::kBackprop) sum.base_energy += one.cost.total_j();
    if (one.timeline == arrays::Timeline::kReversible) sum.energy += one.cost.total_j();
  }
  return sum;
}

MachineResult run_machine(Options options, const MachineOptions& given) {
  const arrays::Machine& machine = arrays::find_machine(given.machine);
  check_flags(machine, given);
  if (options.inference) {
    throw UsageError("--machine is about training steps: leave out --inference");
  }
  if (!options.dataflows.empty()) {
    throw UsageError("a machine has its own dataflow: leave out --dataflow");
  }
  if (options.accelerators.empty()) options.accelerators = machine.preset;
  std::vector<core::fs::path> files;
  if (!given.trace.empty()) {
    files = arrays::trace_files(given.trace);
    take_network_of_trace(given.trace, arrays::read_trace(files.front()), options);
  }
  const Study study = make_study(options);
  if (study.cases.size() != 1) {
    throw UsageError(core::cat("--machine is for one run, got ", study.cases.size(),
                               ": give one network, input, array and batch size"));
  }
  const Case& one = study.cases[0];
  const accel::Point& point = study.points[0];
  accel::refuse_rtl(point.accelerator, "--machine");
  MachineResult result;
  result.machine = &machine;
  result.model = one.model;
  result.input = one.input;
  result.accelerator = one.accelerator;
  result.batch = one.batch;
  result.source = !given.trace.empty()                      ? "trace " + given.trace
                  : machine.reads == arrays::Reads::kShares ? "left out " + given.sparsity
                  : !given.sparsity.empty() ? "zeros " + given.sparsity + ", drawn independently"
                  : !given.bits.empty()     ? "mantissa bits " + given.bits
                                            : "shapes alone";
  MachineCosts mean;
  const auto evaluate = [&](const std::vector<LayerOperands>& operands) {
    MachineCosts epoch =
        machine_costs(machine, point.accelerator, *one.table, *point.plan, operands);
    accumulate(mean, epoch);
    return epoch;
  };
  if (!given.trace.empty()) {
    for (const core::fs::path& file : files) {
      const arrays::Trace trace = arrays::read_trace(file);
      const MachineCosts epoch = evaluate(arrays::operands_of(*one.table, trace, machine.reads));
      result.examples = trace.examples;
      result.epochs.push_back({trace.epoch, {}, {}});
      collect(*one.table, epoch, result.epochs.back().layers, result.epochs.back().passes);
    }
    divide(mean, static_cast<int64_t>(files.size()));
    if (machine.samples_examples) {
      add_standard_error(machine, point, *one.table, arrays::read_trace(files.back()), result);
    }
  } else if (!given.sparsity.empty()) {
    evaluate(arrays::operands_of(*one.table, arrays::parse_sparsity(given.sparsity)));
  } else if (!given.bits.empty()) {
    evaluate(arrays::operands_of(*one.table, arrays::parse_widths(given.bits)));
  } else {
    evaluate(std::vector<LayerOperands>(one.table->rows.size()));
  }
  std::vector<PassPairs> layers;
  collect(*one.table, mean, layers, result.passes);
  if (sum_of(result.passes).cycles == 0) {
    const std::string what = "machine '" + given.machine +
                             "': all operands are zero, no product is left (" + result.source + ")";
    if (!files.empty()) throw DataError(what);
    throw UsageError(what);
  }
  size_t next = 0;
  std::vector<std::string> dense;
  for (const layers::Row& row : one.table->rows) {
    if (!layers::is_product(row)) continue;
    result.layers.push_back({row.name, layers[next++]});
    if (!files.empty() && !arrays::is_traced(row)) dense.push_back(row.name);
  }
  if (!dense.empty()) {
    result.remarks.push_back(core::cat(dense.size(), " products have no trace and count as dense: ",
                                       dense[0], dense.size() > 1 ? ", ..." : ""));
  }
  if (const std::string missing = layers::missing_text(*one.table); !missing.empty()) {
    result.remarks.push_back(missing);
  }
  if (const std::string memory = predictor_memory_text(point); !memory.empty()) {
    result.remarks.push_back(memory);
  }
  for (const LayerCost& layer : mean.equal_area) {
    for (const PassCost* pass : {&layer.forward, &layer.input_gradient, &layer.weight_gradient}) {
      result.equal_area_cycles += product_cycles(*pass);
    }
  }
  result.total_base = batch_total(mean.base);
  if (machine.reversible) {
    add_memory(point, mean.base, result);
    add_recomputation(*point.plan, mean.ours, result);
  }
  result.total = batch_total(mean.ours);
  add_designs(point, mean, result);
  return result;
}

}  // namespace adagp::study
