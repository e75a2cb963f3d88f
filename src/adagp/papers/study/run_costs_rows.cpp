#include "adagp/papers/study/run_costs_rows.h"

#include <algorithm>
#include <set>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/results/report/stats.h"

namespace adagp::study {
namespace {

// The same for all seeds of a run on a machine.
std::string key_of(const TrainingRun& run, const RunCost& cost) {
  std::string key =
      core::cat(run.method, "\n", run.epochs, "\n", run.settings, "\n", cost.design->name);
  for (const RunPlace& place : run_places()) key += "\n" + place.of(run, cost);
  return key;
}

// "bp-e8-b256" of "bp-e8-b256-seed1" and "bp-e8-b256-seed2".
std::string common_name(const std::vector<std::string>& names, const std::string& method) {
  if (names.size() == 1) return names[0];
  std::string name = names[0];
  for (const std::string& other : names) {
    const auto end = std::ranges::mismatch(name, other).in1;
    name.erase(end, name.end());
  }
  const auto trim = [&] {
    while (!name.empty() && std::string("-_/ ").find(name.back()) != std::string::npos) {
      name.pop_back();
    }
  };
  trim();
  const size_t word = name.find_last_not_of("0123456789") + 1;  // seeds 10 and 11 share a digit
  if (name.substr(0, word).ends_with("seed")) name.resize(word - 4);
  trim();
  return name.empty() ? method : name;
}

SeedRow row_of(const std::vector<TrainingRun>& runs, const std::vector<const RunCost*>& costs) {
  SeedRow row;
  row.cost = costs[0];
  row.run = &runs[row.cost->run];
  std::vector<std::string> names;
  std::vector<double> scores;
  for (const RunCost* cost : costs) {
    const TrainingRun& run = runs[cost->run];
    names.push_back(run.name);
    row.seeds.push_back(run.seed);
    if (run.score) scores.push_back(*run.score);
    row.batches += static_cast<double>(batches_of(*cost));
    row.cycles += static_cast<double>(cost->cycles.total());
    row.seconds += cost->seconds;
    row.dram_bytes += cost->dram_bytes;
    row.joules += cost->energy.total();
  }
  for (double* sum : {&row.batches, &row.cycles, &row.seconds, &row.dram_bytes, &row.joules}) {
    *sum /= static_cast<double>(costs.size());
  }
  row.name = common_name(names, row.run->method);
  if (!scores.empty() && scores.size() == costs.size()) row.score = report::mean(scores);
  row.score_sd = report::standard_deviation(scores);
  return row;
}

}  // namespace

const std::vector<RunPlace>& run_places() {
  static const std::vector<RunPlace> places{
      {"model", [](const TrainingRun& r, const RunCost&) { return r.model; }},
      {"input", [](const TrainingRun& r, const RunCost&) { return r.input; }},
      {"precision", [](const TrainingRun& r, const RunCost&) { return r.precision; }},
      {"batch", [](const TrainingRun& r, const RunCost&) { return std::to_string(r.batch); }},
      {"accelerator", [](const TrainingRun&, const RunCost& c) { return c.accelerator.name; }},
      {"array",
       [](const TrainingRun&, const RunCost& c) { return array_text(c.accelerator.array); }},
      {"dataflow", [](const TrainingRun&, const RunCost& c) { return c.accelerator.dataflow; }},
  };
  return places;
}

std::vector<RunPlace> varying_places(const std::vector<TrainingRun>& runs,
                                     const std::vector<RunCost>& costs) {
  std::vector<RunPlace> out;
  for (const RunPlace& place : run_places()) {
    std::set<std::string> values;
    for (const RunCost& cost : costs) values.insert(place.of(runs[cost.run], cost));
    if (values.size() > 1) out.push_back(place);
  }
  return out;
}

std::string metric_of(const std::vector<TrainingRun>& runs) {
  std::set<std::string> names;
  for (const TrainingRun& run : runs) names.insert(run.metric);
  return names.size() == 1 && !names.begin()->empty() ? *names.begin() : "score";
}

int64_t batches_of(const RunCost& cost) {
  int64_t sum = 0;
  for (const GroupCost& group : cost.groups) sum += group.batches;
  return sum;
}

std::vector<SeedRow> over_seeds(const std::vector<TrainingRun>& runs,
                                const std::vector<RunCost>& costs) {
  struct Group {
    std::string key;
    std::set<int64_t> seeds;
    std::vector<const RunCost*> costs;
  };
  std::vector<Group> groups;
  for (const RunCost& cost : costs) {
    const TrainingRun& run = runs[cost.run];
    const std::string key = key_of(run, cost);
    // A seed that comes twice is another experiment, not one more seed.
    auto group = std::ranges::find_if(
        groups, [&](const Group& one) { return one.key == key && !one.seeds.contains(run.seed); });
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}, {}});
    group->seeds.insert(run.seed);
    group->costs.push_back(&cost);
  }
  std::vector<SeedRow> rows;
  for (const Group& group : groups) rows.push_back(row_of(runs, group.costs));
  return rows;
}

}  // namespace adagp::study
