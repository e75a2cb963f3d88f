// adagp layers: the layer table of a network, and what a GP step does with its parameters.

#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/layers/from_model.h"
#include "adagp/models/model.h"
#include "adagp/nn/layer.h"
#include "adagp/report/table.h"
#include "commands.h"

namespace adagp::apps {
namespace {

struct LayersArgs {
  std::string model, input = "imagenet", form, head = "predicted";
  std::optional<int64_t> classes;  // default: 1000 in ImageNet form, 10 in CIFAR form
  bool csv = false, json = false, coverage = false;
};

template <typename Sizes>
std::string times(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const int64_t size : sizes) parts.push_back(std::to_string(size));
  return core::join(parts, "x");
}

void print_layers(const layers::Table& table, int64_t parameters) {
  using report::Align;
  report::Table lines({{"layer", Align::kLeft},
                       {"op", Align::kLeft},
                       {"input"},
                       {"output"},
                       {"kernel"},
                       {"stride"},
                       {"groups"},
                       {"MACs"},
                       {"weights"}});
  for (const layers::Row& row : table.rows) {
    lines.add_row({row.name, row.op, times(row.input), times(row.output), times(row.kernel),
                   times(row.stride), std::to_string(row.groups), core::grouped(row.macs),
                   core::grouped(row.weights)});
  }
  lines.add_row({"total", "", "", "", "", "", "", core::grouped(layers::total_macs(table)),
                 core::grouped(layers::total_weights(table))});
  std::fputs(lines.console().c_str(), stdout);
  std::printf("\n%s, input %s: %zu layers, %s parameters, %s GMACs for one image\n",
              table.model.c_str(), table.input.c_str(), table.rows.size(),
              core::grouped(parameters).c_str(),
              core::fixed(static_cast<double>(layers::total_macs(table)) / 1e9, 3).c_str());
}

struct CoverageTotal {
  int64_t tensors = 0, parameters = 0;
};

void print_coverage(const LayersArgs& args, const std::vector<layers::Coverage>& rows) {
  std::map<std::pair<std::string, std::string>, CoverageTotal> groups;
  int64_t all = 0;
  for (const layers::Coverage& row : rows) {
    CoverageTotal& total = groups[{row.treatment, row.kind}];
    ++total.tensors;
    total.parameters += row.parameters;
    all += row.parameters;
  }
  const auto share = [all](int64_t count) {
    return static_cast<double>(count) / static_cast<double>(all);
  };

  if (args.csv) {
    std::puts("name,kind,treatment,parameters");
    for (const layers::Coverage& row : rows) {
      std::printf("%s,%s,%s,%lld\n", row.name.c_str(), row.kind.c_str(), row.treatment.c_str(),
                  static_cast<long long>(row.parameters));
    }
    return;
  }
  if (args.json) {
    nlohmann::ordered_json out = {{"model", args.model}, {"head", args.head}, {"parameters", all}};
    for (const auto& [key, total] : groups) {
      out["summary"].push_back({{"treatment", key.first},
                                {"kind", key.second},
                                {"tensors", total.tensors},
                                {"parameters", total.parameters},
                                {"share", share(total.parameters)}});
    }
    for (const layers::Coverage& row : rows) {
      out["tensors"].push_back({{"name", row.name},
                                {"kind", row.kind},
                                {"treatment", row.treatment},
                                {"parameters", row.parameters}});
    }
    std::puts(out.dump(2).c_str());
    return;
  }
  using report::Align;
  report::Table lines({{"in a GP step", Align::kLeft},
                       {"kind", Align::kLeft},
                       {"tensors"},
                       {"parameters"},
                       {"share"}});
  for (const auto& [key, total] : groups) {
    lines.add_row({key.first, key.second, std::to_string(total.tensors),
                   core::grouped(total.parameters),
                   core::fixed(100 * share(total.parameters), 3) + " %"});
  }
  lines.add_row({"all", "", std::to_string(rows.size()), core::grouped(all), "100.000 %"});
  std::fputs(lines.console().c_str(), stdout);
}

int run_layers(const LayersArgs& args) {
  const models::Entry& entry = models::find(args.model);
  const layers::InputSize size = layers::parse_input(args.input);
  models::Options options;
  options.form = args.form.empty() ? models::form_for(entry, size.height, size.width)
                                   : models::parse_form(args.form);
  const int64_t usual = options.form == models::Form::kImagenet ? 1000 : 10;
  options.classes = args.classes.value_or(usual);

  nn::ShapeOnlyScope shapes;
  const auto net = models::build(args.model, options);
  if (args.coverage) {
    print_coverage(args, layers::coverage(*net, args.head));
    return 0;
  }
  const layers::Table table = layers::from_model(*net, args.model, args.input);
  if (args.csv) {
    std::fputs(layers::to_csv(table).c_str(), stdout);
  } else if (args.json) {
    std::fputs(layers::to_json(table).c_str(), stdout);
  } else {
    print_layers(table, models::parameter_count(*net));
  }
  return 0;
}

}  // namespace

void add_layers(CLI::App& app, Action& action) {
  auto args = std::make_shared<LayersArgs>();
  CLI::App* command =
      app.add_subcommand("layers", "The layer table of a network: shapes, MACs, weights");
  command->add_option("--model", args->model, "Network (see 'adagp list models')")->required();
  command->add_option("--input", args->input, "imagenet, cifar or HxW")->capture_default_str();
  command->add_option("--classes", args->classes, "Classes (default: 1000, in cifar form 10)");
  command->add_option("--form", args->form,
                      "imagenet or cifar (default: cifar up to 32x32 pixels, else imagenet)");
  CLI::Option* csv = command->add_flag("--csv", args->csv, "CSV, as layers.csv of a run");
  command->add_flag("--json", args->json, "JSON")->excludes(csv);
  CLI::Option* coverage =
      command->add_flag("--coverage", args->coverage,
                        "Which parameters a GP step predicts, computes or leaves alone");
  command->add_option("--head", args->head, "Treatment of the classifier: predicted, exact, frozen")
      ->needs(coverage)
      ->capture_default_str();
  command->callback([args, &action] { action = [args] { return run_layers(*args); }; });
}

}  // namespace adagp::apps
