// Training runs on accelerators as a table, CSV, JSON and a picture.

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/run_costs.h"
#include "adagp/results/report/chart.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/layers/table_json.h"

namespace adagp::study {
namespace {

using nlohmann::ordered_json;
using TrainingRuns = std::vector<TrainingRun>;
using RunCosts = std::vector<RunCost>;

constexpr double kGiga = 1e9;

// What may tell one row from another; those with one value stand in the heading.
struct RunPlace {
  const char* title;
  std::string (*of)(const TrainingRun& run, const RunCost& cost);
};
constexpr RunPlace kRunPlaces[] = {
    {"model", [](const TrainingRun& r, const RunCost&) { return r.model; }},
    {"input", [](const TrainingRun& r, const RunCost&) { return r.input; }},
    {"precision", [](const TrainingRun& r, const RunCost&) { return r.precision; }},
    {"batch", [](const TrainingRun& r, const RunCost&) { return std::to_string(r.batch); }},
    {"accelerator", [](const TrainingRun&, const RunCost& c) { return c.accelerator.name; }},
    {"array", [](const TrainingRun&, const RunCost& c) { return array_text(c.accelerator.array); }},
    {"dataflow", [](const TrainingRun&, const RunCost& c) { return c.accelerator.dataflow; }},
};

bool varies(const RunPlace& place, const TrainingRuns& runs, const RunCosts& costs) {
  std::set<std::string> values;
  for (const RunCost& cost : costs) values.insert(place.of(runs[cost.run], cost));
  return values.size() > 1;
}

std::string score_text(const TrainingRun& run) {
  return run.score ? core::fixed(*run.score, 2) : "-";
}

std::string metric_of(const TrainingRuns& runs) {
  std::set<std::string> names;
  for (const TrainingRun& run : runs) names.insert(run.metric);
  return names.size() == 1 && !names.begin()->empty() ? *names.begin() : "score";
}

int64_t batches_of(const RunCost& cost) {
  int64_t sum = 0;
  for (const GroupCost& group : cost.groups) sum += group.batches;
  return sum;
}

// A colour for each kind of run: its method, and what varies beside it.
std::string series_of(const TrainingRuns& runs, const RunCosts& costs, const RunCost& cost) {
  std::string name = runs[cost.run].method;
  for (const RunPlace& place : kRunPlaces) {
    if (varies(place, runs, costs)) name += " " + place.of(runs[cost.run], cost);
  }
  return cost.design->predicts ? name + " " + cost.design->name : name;
}

report::LineChart score_chart(const TrainingRuns& runs, const RunCosts& costs,
                              const std::string& x_title, double (*x_of)(const RunCost&)) {
  report::LineChart chart;
  chart.title = metric_of(runs) + " against " + x_title;
  chart.x_title = x_title;
  chart.y_title = metric_of(runs);
  chart.from_zero = false;
  for (const RunCost& cost : costs) {
    const TrainingRun& run = runs[cost.run];
    if (!run.score) throw UsageError("--plot: " + run.name + " has no score");
    const std::string name = series_of(runs, costs, cost);
    auto line = std::ranges::find(chart.series, name, &report::LineSeries::name);
    if (line == chart.series.end()) {
      chart.series.push_back({.name = name});
      line = std::prev(chart.series.end());
      line->stroke = report::Stroke::kNone;
      line->marker = 1 + static_cast<int>((chart.series.size() - 1) / report::colour_count());
    }
    line->points.emplace_back(x_of(cost), *run.score);
    line->labels.push_back(run.name);
  }
  return chart;
}

}  // namespace

std::string run_cost_text(const TrainingRuns& runs, const RunCosts& costs) {
  using report::Align;
  const bool named = std::ranges::any_of(runs, [](const auto& r) { return r.name != r.method; });
  std::vector<report::Column> columns;
  if (named) columns.push_back({"run", Align::kLeft});
  columns.push_back({"method", Align::kLeft});
  std::vector<RunPlace> shown;
  std::vector<std::string> common;
  for (const RunPlace& place : kRunPlaces) {
    if (varies(place, runs, costs)) {
      shown.push_back(place);
      columns.push_back({place.title, Align::kLeft});
    } else if (const auto value = place.of(runs[costs[0].run], costs[0]); !value.empty()) {
      common.push_back(core::cat(place.title, " ", value));
    }
  }
  columns.push_back({"design", Align::kLeft});
  for (const std::string& title :
       {std::string("epochs"), std::string("batches"), metric_of(runs), std::string("total cycles"),
        std::string("time (s)"), std::string("DRAM (GB)"), std::string("energy (J)")}) {
    columns.push_back({title});
  }
  report::Table table(columns);
  for (const RunCost& cost : costs) {
    const TrainingRun& run = runs[cost.run];
    std::vector<std::string> cells{run.method};
    if (named) cells.insert(cells.begin(), run.name);
    for (const RunPlace& place : shown) cells.push_back(place.of(run, cost));
    for (const std::string& cell :
         {std::string(cost.design->name), std::to_string(run.epochs),
          core::grouped(batches_of(cost)), score_text(run), core::grouped(cost.cycles.total()),
          significant(cost.seconds), significant(cost.dram_bytes / kGiga),
          significant(cost.energy.total())}) {
      cells.push_back(cell);
    }
    table.add_row(std::move(cells));
  }
  return core::join(common, ", ") + "\n\n" + table.console();
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
    for (const RunPlace& place : kRunPlaces) cells.push_back(place.of(run, cost));
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
    for (const RunPlace& place : kRunPlaces) one[place.title] = place.of(run, cost);
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

std::string run_cost_picture(const TrainingRuns& runs, const RunCosts& costs) {
  const auto cycles = [](const RunCost& c) { return static_cast<double>(c.cycles.total()); };
  const auto joules = [](const RunCost& c) { return c.energy.total(); };
  return report::below_each_other({svg(score_chart(runs, costs, "total cycles", cycles)),
                                   svg(score_chart(runs, costs, "energy (J)", joules))});
}

}  // namespace adagp::study
