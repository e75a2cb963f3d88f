#include "adagp/papers/study/machine_costs.h"

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/summary.h"
#include "adagp/sim/arrays/given.h"

namespace adagp::study {
namespace {

using accel::LayerCost;
using accel::PassCost;
using arrays::LayerOperands;

// The products of a network on a machine.
class MachineProducts : public accel::Products {
 public:
  using Cost = decltype(arrays::Machine::cost);

  MachineProducts(const arrays::Machine& machine, const accel::Accelerator& accelerator,
                  const layers::Table& table, const accel::Plan& plan,
                  const std::vector<LayerOperands>& operands, Cost cost)
      : machine_(machine),
        accelerator_(accelerator),
        table_(table),
        batch_(plan.batch),
        operands_(operands),
        kept_folds_(accel::kept_folds(plan, accelerator)),
        cost_(cost) {}

  PassCost layer(size_t layer, const accel::Work& work) const override {
    const arrays::Product product{table_.rows[layer], work, batch_, &draws_};
    accel::Operands operands = operands_[layer].of(work.pass);
    if (!kept_folds_.empty()) operands.kept_folds = kept_folds_[layer];
    return cost_(product, operands, accelerator_);
  }
  PassCost predictor(const accel::Work& work, bool second) const override {
    return machine_.predictor(work, accelerator_, second);
  }

 private:
  const arrays::Machine& machine_;
  const accel::Accelerator& accelerator_;
  const layers::Table& table_;
  const int64_t batch_;
  const std::vector<LayerOperands>& operands_;
  const std::vector<int64_t> kept_folds_;
  const Cost cost_;
  mutable arrays::Draws draws_;  // evaluate() has one thread
};

void accumulate(std::vector<LayerCost>& sum, const std::vector<LayerCost>& more) {
  if (sum.empty()) {
    sum = more;
    return;
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i].forward += more[i].forward;
    sum[i].input_gradient += more[i].input_gradient;
    sum[i].weight_gradient += more[i].weight_gradient;
  }
}

void divide(PassCost& cost, int64_t count) {
  const auto by = [count](int64_t& value) { value = (value + count / 2) / count; };
  for (int64_t* value :
       {&cost.array, &cost.vector, &cost.stall, &cost.macs, &cost.dram_reads, &cost.dram_writes,
        &cost.sram.ifmap, &cost.sram.filter, &cost.sram.ofmap, &cost.sram.sums}) {
    by(*value);
  }
  cost.energy = cost.energy * (1.0 / static_cast<double>(count));
}

void divide(std::vector<LayerCost>& sum, int64_t count) {
  for (LayerCost& layer : sum) {
    divide(layer.forward, count);
    divide(layer.input_gradient, count);
    divide(layer.weight_gradient, count);
  }
}

// A method that samples decides what it leaves out; zeros of a run say nothing about it.
void check_shares(const arrays::Machine& machine, const MachineOptions& options, int given) {
  if (given != 1 || options.sparsity.empty()) {
    throw UsageError(std::string("machine '") + machine.name +
                     "' needs --sparsity dy=0.5, the share that is left out, and no --trace or "
                     "--bits");
  }
  const arrays::Sparsity shares = arrays::parse_sparsity(options.sparsity);
  const bool examples = &machine == &arrays::kSampledExamples;
  if (shares.w > 0 || (shares.x > 0 && !examples)) {
    throw UsageError(core::cat("--sparsity ", options.sparsity, ": machine '", machine.name,
                               "' leaves out parts of ", examples ? "dy and x" : "dy", " alone"));
  }
}

}  // namespace

MachineCosts machine_costs(const arrays::Machine& machine, const accel::Accelerator& accelerator,
                           const layers::Table& table, const accel::Plan& plan,
                           const std::vector<LayerOperands>& operands) {
  MachineCosts out;
  const auto evaluate = [&](auto cost, accel::Scope scope, std::vector<LayerCost>& layers) {
    const MachineProducts products(machine, accelerator, table, plan, operands, cost);
    accel::evaluate(plan, accelerator, products, scope, layers);
  };
  evaluate(machine.dense, accel::Scope::kTraining, out.base);
  evaluate(machine.cost, accel::Scope::kTraining, out.ours);
  if (machine.equal_area != nullptr) {
    evaluate(machine.equal_area, accel::Scope::kBackprop, out.equal_area);
  }
  return out;
}

void accumulate(MachineCosts& sum, const MachineCosts& more) {
  sum.equal_area = more.equal_area;  // of shapes alone
  accumulate(sum.base, more.base);
  accumulate(sum.ours, more.ours);
}

void divide(MachineCosts& sum, int64_t count) {
  divide(sum.base, count);
  divide(sum.ours, count);
}

void check_flags(const arrays::Machine& machine, const MachineOptions& options) {
  const int given = !options.trace.empty() + !options.sparsity.empty() + !options.bits.empty();
  const std::string name = machine.name;
  if (machine.reads == arrays::Reads::kNothing) {
    if (given > 0) {
      throw UsageError("machine '" + name +
                       "' looks at shapes alone: leave out --trace, --sparsity and --bits");
    }
    return;
  }
  if (machine.reads == arrays::Reads::kShares) return check_shares(machine, options, given);
  const bool zeros = machine.reads == arrays::Reads::kZeros;
  const std::string expected =
      zeros ? "--trace RUN or --sparsity x=0.5,dy=0,w=0.9" : "--trace RUN or --bits w=2,a=2,g=4";
  const bool wrong = zeros ? !options.bits.empty() : !options.sparsity.empty();
  if (given != 1 || wrong) {
    throw UsageError("machine '" + name + "' needs one of " + expected);
  }
}

void take_network_of_trace(const std::string& run, const arrays::Trace& trace, Options& options) {
  if (!options.models.empty() || !options.table.empty() || !options.exported().empty() ||
      !options.topology.empty() || !options.tables.empty()) {
    if (!options.models.empty() && options.models != trace.network) {
      throw DataError(core::cat(trace.file, ": is a trace of '", trace.network,
                                "', not of --model '", options.models, "'"));
    }
    return;
  }
  const core::fs::path table = core::fs::path(run) / "layers.csv";
  if (core::fs::exists(table)) {
    options.table = table.string();
  } else {
    options.models = trace.network;
    options.inputs = trace.input;
  }
  if (options.batches.empty()) options.batches = std::to_string(trace.batch);
  const core::fs::path summary = core::fs::path(run) / "summary.json";
  if (!options.examples && core::fs::exists(summary)) {
    const int64_t examples = report::Summary::read(summary).conditions.train_examples;
    if (examples > 0) options.examples = examples;
  }
}

}  // namespace adagp::study
