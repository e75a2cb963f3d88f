#include "adagp/papers/study/run_costs.h"

#include <algorithm>
#include <tuple>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/study_parts.h"
#include "adagp/sim/accel/checked_math.h"
#include "adagp/sim/accel/rtl_machine.h"

namespace adagp::study {
namespace {

using plan::BatchGroup;
using plan::Work;
using schedule::Phase;

bool predicts(const TrainingRun& run) {
  return std::ranges::any_of(run.batches, [](const auto& entry) {
    return entry.first.work == Work::kLearn || entry.first.work == Work::kPredict;
  });
}

std::vector<const accel::Design*> designs_for(const TrainingRun& run,
                                              const std::vector<const accel::Design*>& asked) {
  if (!predicts(run)) return {&accel::kBaseline};
  std::vector<const accel::Design*> out;
  std::ranges::copy_if(asked, std::back_inserter(out), &accel::Design::predicts);
  if (!out.empty()) return out;
  throw UsageError("--designs: " + run.name +
                   " predicts gradients, and design baseline has no predictor; add low, efficient "
                   "or max");
}

// What the batches of a group have in common with those of other kinds of work.
using Shape = std::tuple<int64_t, int64_t, int64_t>;
Shape shape_of(const BatchGroup& group) {
  return {group.image_side, group.examples, group.frozen_rows};
}

std::map<Shape, accel::Plan> plans_of(const TrainingRun& run, const Options& options) {
  std::map<Shape, accel::Plan> out;
  for (const auto& [group, batches] : run.batches) {
    if (group.work == Work::kNothing || out.contains(shape_of(group))) continue;
    layers::Table table = run.tables.at(group.image_side);
    if (group.frozen_rows > std::ssize(table.rows)) {
      throw DataError(core::cat(run.name, ": ", group.frozen_rows,
                                " frozen rows, and the table of ", table.input, " has ",
                                table.rows.size()));
    }
    for (int64_t i = 0; i < group.frozen_rows; ++i) table.rows[static_cast<size_t>(i)].frozen = 1;
    const accel::PlanOptions plan{group.examples, run.predictor, accel::SizeRule::kFloor,
                                  !options.products_only, run.update};
    try {
      out.emplace(shape_of(group), accel::make_plan(table, plan));
    } catch (const UsageError& error) {
      throw UsageError(run.name + ": " + error.what());
    }
  }
  return out;
}

accel::BatchCost batch_cost(Work work, const accel::Design& design,
                            const std::vector<accel::LayerCost>& layers,
                            const accel::Accelerator& machine) {
  if (work == Work::kUpdate) return accel::update_batch(layers, machine);
  accel::BatchCost out;
  const accel::Design& own = work == Work::kBackprop ? accel::kBaseline : design;
  own.batch(layers, work == Work::kPredict ? Phase::kPredict : Phase::kBackprop, machine, out);
  return out;
}

RunCost cost_of(const TrainingRun& run, const accel::Design& design,
                const std::map<Shape, std::vector<accel::LayerCost>>& layers,
                const accel::Accelerator& machine) {
  RunCost out;
  out.accelerator = machine;
  out.design = &design;
  for (const auto& [group, batches] : run.batches) {
    GroupCost one{group, batches};
    if (group.work != Work::kNothing) {
      const auto batch = batch_cost(group.work, design, layers.at(shape_of(group)), machine);
      one.cycles = batch.cycles;
      one.energy = batch.energy;
      one.dram_words = batch.dram_words;
    }
    const auto times = static_cast<double>(batches);
    out.cycles += one.cycles * batches;
    out.energy += one.energy * times;
    out.dram_bytes += one.dram_words * times * static_cast<double>(machine.word_bytes);
    out.groups.push_back(std::move(one));
  }
  out.seconds = static_cast<double>(out.cycles.total()) / (machine.clock_mhz * 1e6);
  return out;
}

}  // namespace

std::vector<RunCost> simulate_runs(const std::vector<TrainingRun>& runs, const Options& options) {
  const std::function<void()> no_check;
  SeldomCheck unchecked(no_check);
  const auto machines = make_machines(options, read_lists(options), unchecked);
  const auto asked = read_designs(options);
  for (const accel::Accelerator& machine : machines) {
    if (!accel::is_rtl(machine)) continue;
    throw UsageError("accelerator '" + machine.name +
                     "' counts no DRAM traffic by batch, which runs of any method need; give "
                     "--model and --designs without --run and --method, or another accelerator");
  }
  std::vector<RunCost> out;
  for (size_t r = 0; r < runs.size(); ++r) {
    const TrainingRun& run = runs[r];
    const auto plans = plans_of(run, options);
    const auto designs = designs_for(run, asked);
    const accel::Scope scope = predicts(run) ? accel::Scope::kTraining : accel::Scope::kBackprop;
    for (const accel::Accelerator& machine : machines) {
      try {
        std::map<Shape, std::vector<accel::LayerCost>> layers;
        for (const auto& [shape, plan] : plans) {
          accel::evaluate(plan, machine, accel::find_dataflow(machine.dataflow), scope,
                          layers[shape]);
        }
        for (const accel::Design* design : designs) {
          out.push_back(cost_of(run, *design, layers, machine));
          out.back().run = r;
          for (const auto& [shape, plan] : plans) {
            out.back().predictor_weights =
                std::max(out.back().predictor_weights, plan.predictor_weights);
          }
        }
      } catch (const accel::Overflow& error) {
        throw DataError(
            core::cat(run.name, ": takes more cycles than 64 bits hold (", error.what(), ")"));
      }
    }
  }
  return out;
}

}  // namespace adagp::study
