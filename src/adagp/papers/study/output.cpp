#include "adagp/papers/study/output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "adagp/base/core/lookup.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/accel/rtl_machine.h"

namespace adagp::study {
namespace {

using Value = double (*)(const Study& study, const Row& row);

// What --pareto can weigh.
constexpr std::pair<const char*, Value> kValues[] = {
    {"cycles",
     [](const Study& s, const Row& r) { return static_cast<double>(numbers_of(s, r).total); }},
    {"energy", [](const Study& s, const Row& r) { return numbers_of(s, r).energy.total(); }},
    {"time", [](const Study& s, const Row& r) { return numbers_of(s, r).seconds; }},
    {"pes", [](const Study& s, const Row& r) { return static_cast<double>(pes_of(s, r)); }}};

Value find_value(const std::string& name) {
  return core::find_named(kValues, core::trim(name), "--pareto: unknown value").second;
}

std::vector<std::string> place_cells(const Study& study, size_t run) {
  const Case& one = study.cases[run];
  const accel::Point& point = study.points[run];
  return {one.model,
          one.input,
          std::to_string(one.batch),
          one.accelerator,
          array_text(point.accelerator.array),
          point.dataflow->name,
          predictor_text(one.predictor)};
}

const std::vector<std::string> kPlaceTitles = {"model", "input",    "batch",    "accelerator",
                                               "array", "dataflow", "predictor"};

// Places whose values differ in the study: the rest is in the heading.
std::vector<bool> varying_places(const Study& study) {
  std::vector<bool> varies(kPlaceTitles.size(), false);
  const auto first = place_cells(study, 0);
  for (size_t run = 1; run < study.cases.size(); ++run) {
    const auto cells = place_cells(study, run);
    for (size_t i = 0; i < cells.size(); ++i) varies[i] = varies[i] || cells[i] != first[i];
  }
  return varies;
}

std::string number_cell(int64_t value) {
  return std::to_string(value);
}
std::string number_cell(double value) {
  return std::isnan(value) ? "" : core::shortest(value);
}

}  // namespace

bool inference(const Study& study) {
  return study.points.front().designs.empty();
}

Numbers numbers_of(const Study& study, const Row& row) {
  const accel::PointResult& result = study.results[row.run];
  const layers::Missing& missing = study.cases[row.run].missing;
  if (inference(study)) {
    const accel::PassCost& cost = result.inference;
    const double clock = study.points[row.run].accelerator.clock_mhz * 1e6;
    return {"inference", missing,      cost.array,  cost.vector,
            cost.stall,  cost.total(), cost.energy, static_cast<double>(cost.total()) / clock};
  }
  const accel::DesignSummary& one = result.designs[row.design];
  Numbers out{
      one.design->name,       missing,    one.cycles.compute(), one.cycles.vector, one.cycles.stall,
      one.cycles.total(),     one.energy, one.seconds,          one.speedup,       one.energy_ratio,
      one.memory_energy_ratio};
  const accel::Accelerator& machine = study.points[row.run].accelerator;
  if (one.design->second_array && !accel::is_rtl(machine)) {
    const auto cycles = static_cast<double>(out.total);
    out.second_busy = static_cast<double>(one.second.busy) / cycles;
    out.second_utilisation =
        one.second.macs / (cycles * static_cast<double>(machine.second_array().pes()));
    out.second_sram = one.second.sram_words;
    out.second_dram = one.second.dram_words;
    out.second_energy = one.second.energy;
  }
  return out;
}

int64_t pes_of(const Study& study, const Row& row) {
  const accel::Accelerator& machine = study.points[row.run].accelerator;
  const bool second =
      !inference(study) && study.results[row.run].designs[row.design].design->second_array;
  return machine.array.pes() + (second ? machine.second_array().pes() : 0);
}

std::string significant(double value) {
  std::ostringstream out;
  out.precision(4);
  out << value;
  return out.str();
}

std::vector<Row> all_rows(const Study& study) {
  std::vector<Row> rows;
  for (size_t run = 0; run < study.results.size(); ++run) {
    const size_t designs = std::max<size_t>(1, study.results[run].designs.size());
    for (size_t design = 0; design < designs; ++design) rows.push_back({run, design});
  }
  return rows;
}

std::vector<Front> pareto_fronts(const Study& study, const std::string& values) {
  const auto names = core::split(values, ',');
  if (names.size() != 2) {
    throw UsageError("--pareto: '" + values + "', expected two values such as cycles,energy");
  }
  const Value x_of = find_value(names[0]), y_of = find_value(names[1]);
  std::vector<std::string> networks;                 // in the order of the study
  std::unordered_map<std::string, size_t> place_of;  // in `networks`
  std::vector<std::vector<Row>> candidates;
  for (const Row& row : all_rows(study)) {
    const Case& one = study.cases[row.run];
    std::string network = one.model + " " + one.input;
    if (inference(study)) network += core::cat(", batch ", one.batch);
    const auto [at, fresh] = place_of.emplace(network, networks.size());
    if (fresh) {
      networks.push_back(network);
      candidates.emplace_back();
    }
    candidates[at->second].push_back(row);
  }
  std::vector<Front> fronts;
  for (size_t n = 0; n < networks.size(); ++n) {
    std::vector<double> x, y;
    for (const Row& row : candidates[n]) {
      x.push_back(x_of(study, row));
      y.push_back(y_of(study, row));
    }
    Front front;
    front.network = networks[n];
    for (const size_t index : accel::pareto(x, y)) {
      front.rows.push_back(candidates[n][index]);
      front.values.emplace_back(x[index], y[index]);
    }
    fronts.push_back(std::move(front));
  }
  return fronts;
}

std::vector<Row> rows_of(const std::vector<Front>& fronts) {
  std::vector<Row> rows;
  for (const Front& front : fronts) rows.insert(rows.end(), front.rows.begin(), front.rows.end());
  return rows;
}

std::string missing_lines(const Study& study) {
  std::string lines;
  for (const layers::Table& table : study.tables) {
    const std::string text = layers::missing_text(table);
    if (!text.empty()) lines += table.model + ": " + text + "\n";
  }
  return lines;
}

std::string predictor_memory_text(const accel::Accelerator& machine, int64_t words,
                                  const std::vector<const accel::Design*>& designs) {
  const bool keeps = std::any_of(designs.begin(), designs.end(), [](const accel::Design* d) {
    return d == &accel::kEfficient || d == &accel::kMax;
  });
  if (!keeps || accel::is_rtl(machine) || machine.words_beyond_memory(words) == 0) return "";
  return core::cat("the predictor has ", words, " weights, and ",
                   machine.predictor_memory_bytes / machine.word_bytes,
                   " fit its memory (predictor.memory_bytes): designs efficient and max load the "
                   "rest for each layer that needs it");
}

std::string predictor_memory_text(const accel::Point& point) {
  return predictor_memory_text(point.accelerator, point.plan->predictor_weights, point.designs);
}

std::string predictor_memory_text(const Study& study) {
  std::string text;
  size_t runs = 0;
  for (size_t run = 0; run < study.cases.size(); ++run) {
    const std::string one = predictor_memory_text(study.points[run]);
    if (one.empty()) continue;
    if (runs++ == 0)
      text = core::cat(study.cases[run].model, ", ", study.cases[run].input, ": ", one);
  }
  if (runs > 1) text += core::cat(" (and ", runs - 1, " more runs)");
  return text;
}

std::string common_places(const Study& study) {
  const auto varies = varying_places(study);
  const auto cells = place_cells(study, 0);
  std::vector<std::string> shared;
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool about_training = kPlaceTitles[i] == "predictor";
    if (!varies[i] && !(about_training && inference(study))) {
      shared.push_back(kPlaceTitles[i] + " " + cells[i]);
    }
  }
  return core::join(shared, ", ");
}

std::string console(const Study& study, const std::vector<Row>& rows) {
  if (rows.empty()) return "";
  const bool training = !inference(study);
  const auto varies = varying_places(study);
  std::vector<std::string> titles;
  for (size_t i = 0; i < kPlaceTitles.size(); ++i) {
    if (varies[i]) titles.push_back("<" + kPlaceTitles[i]);
  }
  if (training) titles.emplace_back("<design");
  titles.insert(titles.end(), {"PEs", "cycles", "vector cycles", "stall cycles", "total cycles",
                               "time (s)", "energy (J)"});
  if (training) titles.insert(titles.end(), {"speed-up", "energy ratio", "memory energy ratio"});
  report::Table table(titles);
  for (const Row& row : rows) {
    const Numbers numbers = numbers_of(study, row);
    const auto places = place_cells(study, row.run);
    std::vector<std::string> cells;
    for (size_t i = 0; i < places.size(); ++i) {
      if (varies[i]) cells.push_back(places[i]);
    }
    if (training) cells.push_back(numbers.design);
    for (const int64_t count :
         {pes_of(study, row), numbers.cycles, numbers.vector, numbers.stall, numbers.total}) {
      cells.push_back(core::grouped(count));
    }
    cells.push_back(significant(numbers.seconds));
    cells.push_back(significant(numbers.energy.total()));
    if (training) {
      cells.push_back(core::fixed(numbers.speedup, 3));
      cells.push_back(core::fixed(numbers.energy_ratio, 3));
      cells.push_back(core::fixed(numbers.memory_ratio, 3));
    }
    table.add_row(std::move(cells));
  }
  return table.console();
}

std::span<const NumberColumn> number_columns() {
  using N = Numbers;
  static const std::array kColumns = {
      NumberColumn{"cycles", [](const N& n) { return n.cycles; }},
      NumberColumn{"vector_cycles", [](const N& n) { return n.vector; }},
      NumberColumn{"stall_cycles", [](const N& n) { return n.stall; }},
      NumberColumn{"total_cycles", [](const N& n) { return n.total; }},
      NumberColumn{"time_s", [](const N& n) { return n.seconds; }},
      NumberColumn{"energy_j", [](const N& n) { return n.energy.total(); }},
      NumberColumn{"energy_mac_j", [](const N& n) { return n.energy.mac; }},
      NumberColumn{"energy_registers_j", [](const N& n) { return n.energy.registers; }},
      NumberColumn{"energy_array_j", [](const N& n) { return n.energy.array; }},
      NumberColumn{"energy_buffer_j", [](const N& n) { return n.energy.buffer; }},
      NumberColumn{"energy_dram_j", [](const N& n) { return n.energy.dram; }},
      NumberColumn{"energy_vector_j", [](const N& n) { return n.energy.vector; }},
      NumberColumn{"energy_leakage_j", [](const N& n) { return n.energy.leakage; }},
      NumberColumn{"speedup", [](const N& n) { return n.speedup; }},
      NumberColumn{"energy_ratio", [](const N& n) { return n.energy_ratio; }},
      NumberColumn{"memory_energy_ratio", [](const N& n) { return n.memory_ratio; }},
      NumberColumn{"missing_share", [](const N& n) { return n.missing.share; }},
      NumberColumn{"missing_unknown", [](const N& n) { return n.missing.unknown; }},
      NumberColumn{"second_busy", [](const N& n) { return n.second_busy; }},
      NumberColumn{"second_utilisation", [](const N& n) { return n.second_utilisation; }},
      NumberColumn{"second_sram_words", [](const N& n) { return n.second_sram; }},
      NumberColumn{"second_dram_words", [](const N& n) { return n.second_dram; }},
      NumberColumn{"second_energy_j", [](const N& n) { return n.second_energy; }}};
  return kColumns;
}

void write_csv(const Study& study, const std::vector<Row>& rows, const Sink& sink) {
  std::vector<std::string> titles = kPlaceTitles;
  titles.emplace_back("design");
  for (const NumberColumn& column : number_columns()) titles.emplace_back(column.name);
  constexpr size_t kChunk = 1000;  // rows formatted at once
  for (size_t start = 0; start < rows.size(); start += kChunk) {
    report::Table table(titles);
    for (size_t i = start; i < std::min(rows.size(), start + kChunk); ++i) {
      const Numbers numbers = numbers_of(study, rows[i]);
      auto cells = place_cells(study, rows[i].run);
      cells.push_back(numbers.design);
      for (const NumberColumn& column : number_columns()) {
        cells.push_back(
            std::visit([&](const auto& of) { return number_cell(of(numbers)); }, column.of));
      }
      table.add_row(std::move(cells));
    }
    const std::string text = table.csv();
    sink(start == 0 ? text : text.substr(text.find('\n') + 1));
  }
}

}  // namespace adagp::study
