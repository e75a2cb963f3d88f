#pragma once
// Results of a study as table, CSV and JSON. Large sweeps are written as they are formatted.

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "adagp/papers/study/study.h"
#include "adagp/sim/scalesim/config.h"
#include "adagp/sim/scalesim/reports.h"
#include "adagp/sim/scalesim/topology.h"

namespace adagp::study {

// One line of the output: a case, and one of its designs (0 for inference).
struct Row {
  size_t run = 0;
  size_t design = 0;
};
std::vector<Row> all_rows(const Study& study);

// "cycles,energy": for each network (of a forward pass: network and batch, which are different
// work) the rows no other row of it beats in both, by ascending first value. Values: cycles (all,
// stalls included), energy, time, pes. Throws UsageError with the nearest name.
struct Front {
  std::string network;  // "resnet50 imagenet"; of a forward pass with ", batch 8"
  std::vector<Row> rows;
  std::vector<std::pair<double, double>> values;  // as `rows`
};
std::vector<Front> pareto_fronts(const Study& study, const std::string& values);
std::vector<Row> rows_of(const std::vector<Front>& fronts);

// What the study's tables leave out of their networks' MACs, a line each; "" when nothing.
std::string missing_lines(const Study& study);
// That the predictor of a run does not fit the memory of designs efficient and max; "" when it
// fits. Of a study: of its first such run, and how many there are.
std::string predictor_memory_text(const accel::Accelerator& machine, int64_t predictor_weights,
                                  const std::vector<const accel::Design*>& designs);
std::string predictor_memory_text(const accel::Point& point);
std::string predictor_memory_text(const Study& study);
// What all runs have in common, for the heading: "model resnet8, input cifar, batch 128".
std::string common_places(const Study& study);
// Columns of what varies in the study (also where `rows` are a part of it), then the numbers.
std::string console(const Study& study, const std::vector<Row>& rows);

using Sink = std::function<void(const std::string&)>;
void write_csv(const Study& study, const std::vector<Row>& rows, const Sink& sink);
// An array of runs, one per line; each has the designs among `rows`.
void write_json(const Study& study, const std::vector<Row>& rows, const Sink& sink);

// As text. Names from the command line may be no UTF-8; their broken bytes are replaced.
std::string dump(const nlohmann::ordered_json& json, int indent);

// Four significant digits.
std::string significant(double value);

// What a run was asked to be: model, input, batch, accelerator, array, dataflow, ...
nlohmann::ordered_json describe(const Study& study, size_t run);
nlohmann::ordered_json to_json(const accel::Energy& energy);
nlohmann::ordered_json to_json(const accel::PhaseSummary& phase);
nlohmann::ordered_json to_json(const accel::DesignSummary& summary);
nlohmann::ordered_json to_json(const accel::SecondArray& second);
nlohmann::ordered_json to_json(const accel::PassCost& cost);

// What a line of a study's output says in numbers.

// Whether the study's runs are forward passes alone.
bool inference(const Study& study);

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The numbers of a line, whichever mode.
struct Numbers {
  std::string design;
  layers::Missing missing;  // of the network's MACs
  int64_t cycles, vector, stall, total;
  accel::Energy energy;
  double seconds;
  double speedup = 1, energy_ratio = 1, memory_ratio = 1;
  // Of design max by the formulas; elsewhere NaN, because there is no second array or it is not
  // known what it does (machine "rtl").
  double second_busy = kNone;                                              // share of the cycles
  double second_utilisation = kNone;                                       // MACs / (PEs x cycles)
  double second_sram = kNone, second_dram = kNone, second_energy = kNone;  // words, words, J
};
Numbers numbers_of(const Study& study, const Row& row);
// Those of CSV and of columns(), in their order.
struct NumberColumn {
  const char* name;
  std::variant<int64_t (*)(const Numbers&), double (*)(const Numbers&)> of;
};
std::span<const NumberColumn> number_columns();

// Of the design: with its second array, where it has one.
int64_t pes_of(const Study& study, const Row& row);

// What `adagp scalesim --json` prints.

// {"run_name", "array", "dataflow", "layers": [{"name", "total_cycles", ...}], "total": {...}};
// keys as in `simulate --json` where they mean the same, percentages as shares. `layers` are the
// topology's, in its order.
std::string scalesim_json(const scalesim::Config& config, const scalesim::Topology& topology,
                          const std::vector<scalesim::LayerReport>& layers);

// Results of a study as columns, for programs that compute with them.

// Few different texts over many rows.
struct Texts {
  std::vector<std::string> values;  // each once, in the order in which they come
  std::vector<int32_t> codes;       // a place in `values` for each row
};

struct Column {
  std::string name;
  std::variant<Texts, std::vector<int64_t>, std::vector<double>> data;
};

// The columns of write_csv in its order; after "dataflow" also the sides of the array as numbers
// and all PEs of the design.
std::vector<Column> columns(const Study& study, const std::vector<Row>& rows);

}  // namespace adagp::study
