#include "adagp/papers/study/study.h"

#include <algorithm>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/study_parts.h"

namespace adagp::study {
namespace {

// About 2 KB each: a combination with its results, a layer of a plan.
constexpr size_t kMostCases = 1'000'000, kMostPlanLayers = 1'000'000;

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
  const auto designs =
      options.inference ? std::vector<const accel::Design*>() : read_designs(options);
  const auto prepared = make_plans(options, lists, sources, study, seldom);
  for (const Prepared& ready : prepared) {
    accel::Run run;
    if (!options.inference) run = run_of(options, ready.source->input, ready.plan->batch);
    const layers::Missing missing = layers::missing(*ready.source->table);
    for (const accel::Accelerator& machine : machines) {
      study.cases.push_back({ready.source->model, ready.source->input, machine.name,
                             ready.plan->batch, ready.predictor, ready.plan, ready.source->table,
                             missing});
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
