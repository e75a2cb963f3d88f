// Training runs on accelerators as a table, CSV and JSON.

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/run_costs_rows.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/layers/table_json.h"

namespace adagp::study {
namespace {

using nlohmann::ordered_json;
using TrainingRuns = std::vector<TrainingRun>;
using RunCosts = std::vector<RunCost>;

constexpr double kGiga = 1e9;

// "88.43 ± 0.16": the mean of the seeds and their standard deviation.
std::string score_text(const SeedRow& row) {
  if (!row.score) return "-";
  return core::fixed(*row.score, 2) +
         (row.seeds.size() > 1 ? " ± " + core::fixed(row.score_sd, 2) : "");
}

std::string whole(double value) {
  return core::grouped(std::llround(value));
}

}  // namespace

std::string run_cost_text(const TrainingRuns& runs, const RunCosts& costs) {
  using report::Align;
  const bool named = std::ranges::any_of(runs, [](const auto& r) { return r.name != r.method; });
  const std::vector<SeedRow> rows = over_seeds(runs, costs);
  const bool seeds = std::ranges::any_of(rows, [](const auto& r) { return r.seeds.size() > 1; });
  const std::vector<RunPlace> shown = varying_places(runs, costs);
  std::vector<std::string> common;
  for (const RunPlace& place : run_places()) {
    const bool in_table = std::ranges::any_of(
        shown, [&](const RunPlace& one) { return std::string(one.title) == place.title; });
    const std::string value = place.of(runs[costs[0].run], costs[0]);
    if (!in_table && !value.empty()) common.push_back(core::cat(place.title, " ", value));
  }
  std::vector<report::Column> columns;
  if (named) columns.push_back({seeds ? "runs" : "run", Align::kLeft});
  columns.push_back({"method", Align::kLeft});
  for (const RunPlace& place : shown) columns.push_back({place.title, Align::kLeft});
  columns.push_back({"design", Align::kLeft});
  columns.push_back({"epochs"});
  if (seeds) columns.push_back({"n"});
  for (const std::string& title :
       {std::string("batches"), metric_of(runs), std::string("total cycles"),
        std::string("time (s)"), std::string("DRAM (GB)"), std::string("energy (J)")}) {
    columns.push_back({title});
  }
  report::Table table(columns);
  for (const SeedRow& row : rows) {
    std::vector<std::string> cells;
    if (named) cells.push_back(row.name);
    cells.push_back(row.run->method);
    for (const RunPlace& place : shown) cells.push_back(place.of(*row.run, *row.cost));
    cells.insert(cells.end(), {row.cost->design->name, std::to_string(row.run->epochs)});
    if (seeds) cells.push_back(std::to_string(row.seeds.size()));
    cells.insert(cells.end(),
                 {whole(row.batches), score_text(row), whole(row.cycles), significant(row.seconds),
                  significant(row.dram_bytes / kGiga), significant(row.joules)});
    table.add_row(std::move(cells));
  }
  return core::join(common, ", ") + "\n\n" + table.console() +
         (seeds ? "\nmeans over n seeds; " + metric_of(runs) +
                      ": ± standard deviation (a row for each run: --csv, --json)\n"
                : "");
}

std::string run_cost_csv(const TrainingRuns& runs, const RunCosts& costs) {
  report::Table table(report::titled(
      {"run",          "method", "model",      "input",   "precision",     "batch",
       "accelerator",  "array",  "dataflow",   "design",  "epochs",        "seed",
       "batches",      "metric", "score",      "cycles",  "vector_cycles", "stall_cycles",
       "total_cycles", "time_s", "dram_bytes", "energy_j"}));
  for (const RunCost& cost : costs) {
    const TrainingRun& run = runs[cost.run];
    std::vector<std::string> cells{run.name, run.method};
    for (const RunPlace& place : run_places()) cells.push_back(place.of(run, cost));
    for (const std::string& cell :
         {std::string(cost.design->name), std::to_string(run.epochs), std::to_string(run.seed),
          std::to_string(batches_of(cost)), run.metric, run.score ? core::shortest(*run.score) : "",
          std::to_string(cost.cycles.compute()), std::to_string(cost.cycles.vector),
          std::to_string(cost.cycles.stall), std::to_string(cost.cycles.total()),
          core::shortest(cost.seconds), core::shortest(cost.dram_bytes),
          core::shortest(cost.energy.total())}) {
      cells.push_back(cell);
    }
    table.add_row(std::move(cells));
  }
  return table.csv();
}

std::vector<std::string> run_cost_warnings(const TrainingRuns& runs, const RunCosts& costs) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& name, const std::string& text) {
    if (text.empty()) return;
    const std::string line = name.empty() ? text : name + ": " + text;
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  };
  for (const TrainingRun& run : runs) add(run.name, layers::missing_text(run.tables.at(0)));
  for (const RunCost& cost : costs) {
    add(runs[cost.run].name,
        predictor_memory_text(cost.accelerator, cost.predictor_weights, {cost.design}));
  }
  const auto half = [](const TrainingRun& run) { return run.precision == "bf16"; };
  if (std::ranges::any_of(runs, half) && !std::ranges::all_of(runs, half)) {
    add("",
        "updates of bf16 runs move weights of two words, those of the other runs weights of one; "
        "products cost the same in all of them");
  }
  return lines;
}

ordered_json run_cost_json(const TrainingRuns& runs, const RunCosts& costs) {
  ordered_json out = ordered_json::array();
  for (const RunCost& cost : costs) {
    const TrainingRun& run = runs[cost.run];
    ordered_json one{{"run", run.name}, {"method", run.method}};
    for (const RunPlace& place : run_places()) one[place.title] = place.of(run, cost);
    one["batch"] = run.batch;  // a number
    one["design"] = cost.design->name;
    one["epochs"] = run.epochs;
    one["seed"] = run.seed;
    one["batches"] = batches_of(cost);
    one["metric"] = run.metric;
    one["score"] = run.score ? ordered_json(*run.score) : ordered_json(nullptr);
    one["cycles"] = cost.cycles.compute();
    one["vector_cycles"] = cost.cycles.vector;
    one["stall_cycles"] = cost.cycles.stall;
    one["total_cycles"] = cost.cycles.total();
    one["seconds"] = cost.seconds;
    one["dram_bytes"] = cost.dram_bytes;
    one["energy_j"] = cost.energy.total();
    one["energy"] = to_json(cost.energy);
    one["missing"] = layers::missing_json(layers::missing(run.tables.at(0)));
    for (const GroupCost& group : cost.groups) {
      one["groups"].push_back({{"work", plan::name_of(group.group.work)},
                               {"image_side", group.group.image_side},
                               {"examples", group.group.examples},
                               {"frozen_rows", group.group.frozen_rows},
                               {"batches", group.batches},
                               {"total_cycles", group.cycles.total()},
                               {"dram_words", group.dram_words},
                               {"energy_j", group.energy.total()}});
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace adagp::study
