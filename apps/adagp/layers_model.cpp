// adagp layers of a network of the registry: its table, and what a GP step does with its
// parameters.

#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/layers/side_table.h"
#include "adagp/engine/layers/zoo_tables.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/results/report/table.h"
#include "layers.h"
#include "simulate_runs.h"

namespace adagp::apps {
namespace {

// "5921,7859": source and target.
void read_words(const std::string& text, models::TransformerOptions& options) {
  const auto parts = core::split(text, ',');
  long long source = 0, target = 0;
  if (parts.size() != 2 || !core::parse_integer(parts[0], source) ||
      !core::parse_integer(parts[1], target) || source < 1 || target < 1) {
    throw UsageError("--words '" + text + "': expected SRC,TGT, for example 5921,7859");
  }
  options.source_words = source;
  options.target_words = target;
}

struct BuiltNet {
  std::shared_ptr<models::Net> net;
  std::string input;
};

BuiltNet build_for_layers(const LayersArgs& args) {
  const models::Entry& entry = models::find(args.model);
  layers::Usual usual = layers::usual(entry);
  if (!args.input.empty()) usual.input = args.input;
  const auto size = layers::parse_input(usual.input, entry.image_size);
  models::Options& options = usual.options;
  if (!args.form.empty()) {
    options.form = models::parse_form(args.form);
  } else if (!size.tokens()) {
    options.form = models::form_for(entry, size.height, size.width);
  }
  if (entry.task == models::TaskKind::kClassification) {
    options.classes = options.form == models::Form::kImagenet ? 1000 : 10;
  }
  if (args.classes) options.classes = *args.classes;
  if (!args.words.empty()) read_words(args.words, options.transformer);
  return {models::build(args.model, options), usual.input};
}

struct CoverageTotal {
  int64_t tensors = 0, parameters = 0;
};
using CoverageTotals = std::map<std::pair<std::string, std::string>, CoverageTotal>;

std::string coverage_csv(const std::vector<layers::Coverage>& rows) {
  std::string out = "name,kind,treatment,parameters\n";
  for (const layers::Coverage& row : rows) {
    out += core::cat(row.name, ",", row.kind, ",", row.treatment, ",", row.parameters, "\n");
  }
  return out;
}

std::string coverage_json(const LayersArgs& args, const std::vector<layers::Coverage>& rows,
                          const CoverageTotals& groups, int64_t all) {
  nlohmann::ordered_json out = {{"model", args.model}, {"head", args.head}, {"parameters", all}};
  for (const auto& [key, total] : groups) {
    out["summary"].push_back(
        {{"treatment", key.first},
         {"kind", key.second},
         {"tensors", total.tensors},
         {"parameters", total.parameters},
         {"share", static_cast<double>(total.parameters) / static_cast<double>(all)}});
  }
  for (const layers::Coverage& row : rows) {
    out["tensors"].push_back({{"name", row.name},
                              {"kind", row.kind},
                              {"treatment", row.treatment},
                              {"parameters", row.parameters}});
  }
  return out.dump(2) + "\n";
}

std::string coverage_text(const std::vector<layers::Coverage>& rows, const CoverageTotals& groups,
                          int64_t all) {
  report::Table lines({"<in a GP step", "<kind", "tensors", "parameters", "share"});
  const auto share = [all](int64_t count) {
    return core::fixed(100 * static_cast<double>(count) / static_cast<double>(all), 3) + " %";
  };
  std::map<std::string, CoverageTotal> treatments;
  for (const auto& [key, total] : groups) {
    lines.add_row({key.first, key.second, std::to_string(total.tensors),
                   core::grouped(total.parameters), share(total.parameters)});
    treatments[key.first].tensors += total.tensors;
    treatments[key.first].parameters += total.parameters;
  }
  for (const auto& [treatment, total] : treatments) {
    lines.add_row({treatment, "all", std::to_string(total.tensors), core::grouped(total.parameters),
                   share(total.parameters)});
  }
  lines.add_row({"all", "", std::to_string(rows.size()), core::grouped(all), share(all)});
  return lines.console();
}

}  // namespace

FoundTable model_table(const LayersArgs& args) {
  const nn::ShapeOnlyScope shapes;
  const auto [net, input] = build_for_layers(args);
  FoundTable found;
  found.table = layers::from_model(*net, args.model, input, layers::Operations::kAll);
  found.parameters = models::parameter_count(*net);
  return found;
}

std::string model_coverage(const LayersArgs& args) {
  const nn::ShapeOnlyScope shapes;
  const auto rows = layers::coverage(*build_for_layers(args).net, args.head);
  CoverageTotals groups;
  int64_t all = 0;
  for (const layers::Coverage& row : rows) {
    CoverageTotal& total = groups[{row.treatment, row.kind}];
    ++total.tensors;
    total.parameters += row.parameters;
    all += row.parameters;
  }
  return args.csv    ? coverage_csv(rows)
         : args.json ? coverage_json(args, rows, groups, all)
                     : coverage_text(rows, groups, all);
}

std::string write_zoo(const LayersArgs& args) {
  const core::fs::path folder = args.zoo;
  core::make_folder(folder);
  const auto tables = layers::zoo_tables();
  for (const layers::ZooTable& item : tables) {
    core::write_file(folder / (item.name + ".csv"), layers::to_csv(item.table));
  }
  return core::cat(args.zoo, ": ", tables.size(), " layer tables\n");
}

// The program with LibTorch asks the network for its table at another side.
layers::SideTable side_table(const layers::Table& full, int64_t side) {
  return layers::side_table(full, side);
}

}  // namespace adagp::apps
