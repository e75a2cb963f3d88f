#include "adagp/papers/study/study.h"

#include <algorithm>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/sim/layers/pt2.h"
#include "adagp/sim/scalesim/topology.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::study {
namespace {

constexpr int64_t kTrainingBatch = 128, kInferenceBatch = 1;
constexpr int64_t kLargestBatch = 1 << 20, kLargestPredictor = 4096;
// About 2 KB each: a combination with its results, a layer of a plan.
constexpr size_t kMostCases = 1'000'000, kMostPlanLayers = 1'000'000;

struct Source {
  const layers::Table* table;
  std::string model, input;
  accel::SizeRule rule = accel::SizeRule::kFloor;
};

std::vector<Source> read_sources(const Options& options, Study& study) {
  const int given = !options.models.empty() + !options.table.empty() + !options.pt2.empty() +
                    !options.topology.empty() + !options.tables.empty();
  if (given != 1) {
    throw UsageError(std::string("simulate: ") + (given == 0 ? "nothing to simulate" : "too much") +
                     ": give one of --model, --table, --pt2 and --topology");
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
  } else if (!options.table.empty() || !options.pt2.empty()) {
    layers::Table table;
    if (options.pt2.empty()) {
      table = layers::from_csv(core::read_file(options.table), options.table);
    } else {
      layers::Exported exported = layers::read_pt2(options.pt2);
      table = std::move(exported.table);
      study.batch_note = exported.note;
      if (table.rows.empty()) {
        throw DataError(options.pt2 + ": has no operation that could be simulated");
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

template <typename Entries>
std::vector<std::string> names_or_all(const std::string& text, const std::string& flag,
                                      const Entries& all) {
  if (text != "all") return parse_names(text, flag);
  std::vector<std::string> names;
  for (const auto* entry : all) names.emplace_back(entry->name);
  return names;
}

// What the flags list, before anything is made of it.
struct Lists {
  std::vector<std::string> accelerators;
  std::vector<std::pair<int64_t, int64_t>> arrays;  // empty: the accelerator's
  std::vector<std::string> dataflows;               // empty: the accelerator's
  std::vector<int64_t> batches;
  std::vector<predictor::Config> predictors;
};

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

// Before plans and points are made: they take memory. Every factor is at most a million, and the
// product is cut off as soon as it is too large.
void check_size(const Lists& lists, const std::vector<Source>& sources) {
  size_t layers = 0;
  for (const Source& source : sources) layers += source.table->rows.size();
  const auto within = [](std::initializer_list<size_t> factors, size_t most, const char* what) {
    size_t product = 1;
    for (const size_t factor : factors) {
      product *= std::max<size_t>(1, factor);
      if (product > most) {
        throw UsageError(core::cat("simulate: more than ", most, " ", what,
                                   "; give shorter lists or larger steps"));
      }
    }
  };
  within({sources.size(), lists.batches.size(), lists.predictors.size(), lists.accelerators.size(),
          lists.arrays.size(), lists.dataflows.size()},
         kMostCases, "combinations");
  within({layers, lists.batches.size(), lists.predictors.size()}, kMostPlanLayers,
         "layers in all (of the networks, times batch sizes, times predictor sizes)");
}

// Calls what the caller gave once in a thousand times.
class SeldomCheck {
 public:
  explicit SeldomCheck(const std::function<void()>& check) : check_(check) {}
  void operator()() {
    if (check_ && ++calls_ % 1024 == 0) check_();
  }

 private:
  const std::function<void()>& check_;
  size_t calls_ = 0;
};

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

struct Prepared {
  const Source* source;
  const accel::Plan* plan;
  predictor::Config predictor;
};

std::vector<Prepared> make_plans(const Options& options, const Lists& lists,
                                 const std::vector<Source>& sources, Study& study,
                                 SeldomCheck& check) {
  std::vector<Prepared> prepared;
  for (const Source& source : sources) {
    for (const int64_t batch : lists.batches) {
      for (const predictor::Config& config : lists.predictors) {
        const accel::PlanOptions plan{batch, config, source.rule, !options.products_only};
        study.plans.push_back(accel::make_plan(*source.table, plan));
        prepared.push_back({&source, &study.plans.back(), config});
        for (size_t i = 0; i < source.table->rows.size(); ++i) check();
      }
    }
  }
  return prepared;
}

void check_count(const char* flag, int64_t value, int64_t most) {
  if (value < 1 || value > most) {
    throw UsageError(core::cat(flag, " is ", value, ", expected 1 to ", most));
  }
}

accel::Run run_of(const Options& options, const std::string& input, int64_t batch) {
  const int64_t examples = options.examples ? *options.examples : examples_of(input);
  return {schedule::Schedule::parse(options.schedule, options.epochs), options.epochs,
          accel::batches_of(examples, batch)};
}

}  // namespace

Study make_study(const Options& options, const std::function<void()>& check) {
  SeldomCheck seldom(check);
  check_count("--epochs", options.epochs, kMostEpochs);
  if (options.examples) check_count("--examples", *options.examples, kMostExamples);
  Study study;
  const auto sources = read_sources(options, study);
  const Lists lists = read_lists(options);
  check_size(lists, sources);
  const auto machines = make_machines(options, lists, seldom);
  std::vector<const accel::Design*> designs;
  if (!options.inference) {
    for (const auto& name : names_or_all(options.designs, "--designs", accel::designs())) {
      designs.push_back(&accel::find_design(name));
    }
  }
  const auto prepared = make_plans(options, lists, sources, study, seldom);
  for (const Prepared& ready : prepared) {
    accel::Run run;
    if (!options.inference) run = run_of(options, ready.source->input, ready.plan->batch);
    for (const accel::Accelerator& machine : machines) {
      study.cases.push_back({ready.source->model, ready.source->input, machine.name,
                             ready.plan->batch, ready.predictor, ready.plan, ready.source->table});
      study.points.push_back(
          {ready.plan, &accel::find_dataflow(machine.dataflow), machine, designs, run});
      seldom();
    }
  }
  return study;
}

void run(Study& study, unsigned threads, const std::function<void(size_t)>& progress) {
  study.results = accel::sweep(study.points, threads, progress);
}

std::optional<int64_t> known_examples(const std::string& input) {
  static const std::pair<const char*, int64_t> kSizes[] = {{"cifar", 50'000},
                                                           {"cifar100", 50'000},
                                                           {"imagenet", 1'281'167},
                                                           {"multi30k", 29'000},
                                                           {"voc", 16'551}};
  for (const auto& [name, size] : kSizes) {
    if (input == name) return size;
  }
  return std::nullopt;
}

int64_t examples_of(const std::string& input) {
  if (const auto examples = known_examples(input)) return *examples;
  throw UsageError("input '" + input +
                   "' has no known number of examples: give --examples N (of an epoch), or "
                   "--inference for the forward pass alone");
}

std::string array_text(const accel::Array& array) {
  return core::cat(array.rows, "x", array.columns);
}

std::string predictor_text(const predictor::Config& config) {
  if (config.kind == "remap") return core::cat("remap ", config.remap_channels);
  return core::cat(config.channels, "/", config.pooled, "/", config.summary);
}

std::vector<std::string> labels(const Study& study) {
  using Text = std::function<std::string(size_t)>;
  const auto& cases = study.cases;
  const Text dimensions[] = {
      [&](size_t i) { return cases[i].model; },
      [&](size_t i) { return cases[i].input; },
      [&](size_t i) { return cases[i].accelerator; },
      [&](size_t i) { return array_text(study.points[i].accelerator.array); },
      [&](size_t i) { return std::string(study.points[i].dataflow->name); },
      [&](size_t i) { return core::cat("batch ", cases[i].batch); },
      [&](size_t i) { return "predictor " + predictor_text(cases[i].predictor); },
  };
  std::vector<std::string> out(cases.size());
  for (const Text& text : dimensions) {
    std::set<std::string> values;
    for (size_t i = 0; i < cases.size() && values.size() < 2; ++i) values.insert(text(i));
    if (values.size() < 2) continue;
    for (size_t i = 0; i < out.size(); ++i) out[i] += (out[i].empty() ? "" : " ") + text(i);
  }
  if (study.cases.size() == 1) out[0] = study.cases[0].model;
  return out;
}

}  // namespace adagp::study
