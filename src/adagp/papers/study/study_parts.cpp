#include "adagp/papers/study/study_parts.h"

#include <algorithm>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/sim/layers/onnx.h"
#include "adagp/sim/layers/pt2.h"
#include "adagp/sim/scalesim/topology.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::study {
namespace {

constexpr int64_t kTrainingBatch = 128, kInferenceBatch = 1;
constexpr int64_t kLargestBatch = 1 << 20, kLargestPredictor = 4096;

template <typename Entries>
std::vector<std::string> names_or_all(const std::string& text, const std::string& flag,
                                      const Entries& all) {
  if (text != "all") return parse_names(text, flag);
  std::vector<std::string> names;
  for (const auto* entry : all) names.emplace_back(entry->name);
  return names;
}

std::vector<predictor::Config> read_predictors(const Options& options) {
  const predictor::Config usual;
  const bool remap = options.predictor_kind == "remap";
  for (const auto& [flag, given] : {std::pair{"--predictor-pooled", &options.predictor_pooled},
                                    std::pair{"--predictor-summary", &options.predictor_summary}}) {
    if (remap && !given->empty()) {
      throw UsageError(core::cat(flag, ": predictor remap always sees maps of ",
                                 predictor::kRemapSide, "x", predictor::kRemapSide,
                                 "; leave it out"));
    }
  }
  const auto list = [](const std::string& text, const char* flag, int64_t otherwise) {
    return text.empty() ? std::vector<int64_t>{otherwise}
                        : parse_numbers(text, flag, kLargestPredictor);
  };
  std::vector<predictor::Config> out;
  for (const int64_t channels : list(options.predictor_channels, "--predictor-channels",
                                     remap ? usual.remap_channels : usual.channels)) {
    for (const int64_t pooled :
         list(options.predictor_pooled, "--predictor-pooled", usual.pooled)) {
      for (const int64_t summary :
           list(options.predictor_summary, "--predictor-summary", usual.summary)) {
        predictor::Config config = usual;
        config.kind = options.predictor_kind;
        (remap ? config.remap_channels : config.channels) = channels;
        config.pooled = pooled;
        config.summary = summary;
        config.order = options.predictor_order;
        config.steps = options.predictor_steps;
        out.push_back(config);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Source> read_sources(const Options& options, Study& study) {
  const int given = !options.models.empty() + !options.table.empty() + !options.pt2.empty() +
                    !options.onnx.empty() + !options.topology.empty() + !options.tables.empty();
  if (given != 1) {
    throw UsageError(std::string("simulate: ") + (given == 0 ? "nothing to simulate" : "too much") +
                     ": give one of --model, --table, --pt2, --onnx and --topology");
  }
  std::vector<Source> sources;
  const auto add = [&](layers::Table table, const std::string& input, accel::SizeRule rule) {
    study.tables.push_back(std::move(table));
    sources.push_back({&study.tables.back(), study.tables.back().model, input, rule});
  };
  if (!options.tables.empty()) {
    for (const layers::Table& table : options.tables) {
      add(table, table.input, options.tables_rule);
    }
  } else if (!options.table.empty() || !options.exported().empty()) {
    layers::Table table;
    if (options.exported().empty()) {
      table = layers::from_csv(core::read_file(options.table), options.table);
    } else {
      layers::Exported exported =
          options.onnx.empty() ? layers::read_pt2(options.pt2) : layers::read_onnx(options.onnx);
      table = std::move(exported.table);
      study.batch_note = exported.note;
      if (table.rows.empty()) {
        throw DataError(options.exported() + ": has no operation that could be simulated");
      }
    }
    const std::string input = table.input;
    add(std::move(table), input, accel::SizeRule::kFloor);
  } else if (!options.topology.empty()) {
    const auto topology =
        scalesim::parse_topology(core::read_file(options.topology), options.topology,
                                 scalesim::parse_kind(options.topology_kind));
    add(scalesim::to_table(topology), "topology", accel::SizeRule::kScaleSim);
  } else {
    const bool all = options.models == "all";
    const auto models = all ? zoo::models() : parse_names(options.models, "--model");
    for (const auto& model : models) {
      const auto has = zoo::inputs(model);
      for (const auto& input : parse_names(options.inputs, "--input")) {
        // "all" means those that take the input.
        if (all && std::find(has.begin(), has.end(), input) == has.end()) continue;
        add(zoo::layer_table(model, input), input, accel::SizeRule::kFloor);
      }
    }
    if (sources.empty()) {
      throw UsageError("--input " + options.inputs + ": no network has a layer table for it");
    }
  }
  return sources;
}

Lists read_lists(const Options& options) {
  Lists lists;
  lists.accelerators = parse_names(options.accelerators, "--accelerator");
  if (!options.arrays.empty()) lists.arrays = parse_arrays(options.arrays, "--array");
  if (!options.dataflows.empty()) {
    lists.dataflows = names_or_all(options.dataflows, "--dataflow", accel::dataflows());
  }
  lists.batches = options.batches.empty()
                      ? std::vector<int64_t>{options.inference ? kInferenceBatch : kTrainingBatch}
                      : parse_numbers(options.batches, "--batch", kLargestBatch);
  lists.predictors = read_predictors(options);
  return lists;
}

std::vector<accel::Accelerator> make_machines(const Options& options, const Lists& lists,
                                              SeldomCheck& check) {
  std::vector<accel::Accelerator> machines;
  for (const auto& name : lists.accelerators) {
    accel::Accelerator machine = zoo::accelerator(name);
    core::Binding binding = accel::bind(machine);
    for (const auto& setting : options.settings) binding.set(setting);
    auto arrays = lists.arrays;
    if (arrays.empty()) arrays.emplace_back(machine.array.rows, machine.array.columns);
    const auto flows =
        lists.dataflows.empty() ? std::vector<std::string>{machine.dataflow} : lists.dataflows;
    for (const auto& [rows, columns] : arrays) {
      machine.array.rows = rows;
      machine.array.columns = columns;
      for (const auto& flow : flows) {
        machine.dataflow = accel::find_dataflow(flow).name;
        accel::check_dataflow(machine);
        machines.push_back(machine);
        check();
      }
    }
    accel::check(machine);  // what differs between the arrays was checked where it was read
  }
  return machines;
}

std::vector<const accel::Design*> read_designs(const Options& options) {
  std::vector<const accel::Design*> out;
  for (const auto& name : names_or_all(options.designs, "--designs", accel::designs())) {
    out.push_back(&accel::find_design(name));
  }
  return out;
}

}  // namespace adagp::study
