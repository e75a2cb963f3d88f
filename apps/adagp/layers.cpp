// adagp layers: the layer table of a network of ours, or of one that Python exported.

#include "layers.h"

#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/core/error.h"
#include "adagp/core/log.h"
#include "adagp/core/output.h"
#include "adagp/core/special_files.h"
#include "adagp/core/text.h"
#include "adagp/layers/pt2.h"
#include "adagp/report/table.h"
#include "commands.h"

namespace adagp::apps {
namespace {

template <typename Sizes>
std::string times(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const int64_t size : sizes) parts.push_back(std::to_string(size));
  return core::join(parts, "x");
}

std::string layers_text(const FoundTable& found) {
  using report::Align;
  const layers::Table& table = found.table;
  report::Table lines({{"layer", Align::kLeft},
                       {"op", Align::kLeft},
                       {"input"},
                       {"output"},
                       {"kernel"},
                       {"stride"},
                       {"padding"},
                       {"groups"},
                       {"MACs"},
                       {"weights"}});
  size_t products = 0;
  for (const layers::Row& row : table.rows) {
    lines.add_row({row.name, row.op, times(row.input), times(row.output), times(row.kernel),
                   times(row.stride), times(row.padding), std::to_string(row.groups),
                   core::grouped(row.macs), core::grouped(row.weights)});
    products += layers::is_product(row) ? 1 : 0;
  }
  lines.add_row({"total of products", "", "", "", "", "", "", "",
                 core::grouped(layers::total_macs(table)),
                 core::grouped(layers::total_weights(table))});
  std::string out = lines.console();
  out += core::cat("\n", table.model, ", input ", table.input, ": ", products, " products");
  if (products < table.rows.size()) {
    out += core::cat(", ", table.rows.size() - products, " vector operations");
  }
  if (found.parameters) out += ", " + core::grouped(*found.parameters) + " parameters";
  out += core::cat(", ", core::fixed(static_cast<double>(layers::total_macs(table)) / 1e9, 3),
                   " GMACs for one example\n");
  for (const auto& [op, count] : found.unknown) {
    out += core::cat("without a row: ", op, ", ", count, count == 1 ? " time\n" : " times\n");
  }
  return out;
}

std::string layers_json(const FoundTable& found) {
  auto out = nlohmann::ordered_json::parse(layers::to_json(found.table));
  if (found.parameters) out["parameters"] = *found.parameters;
  if (!found.unknown.empty()) out["unknown"] = found.unknown;
  return out.dump(2) + "\n";
}

FoundTable exported_table(const LayersArgs& args) {
  layers::Exported exported = layers::read_pt2(args.pt2, args.batch);
  if (exported.table.rows.empty()) {
    throw DataError(args.pt2 + ": has no operation that a layer table could show");
  }
  // The text and JSON list them; a CSV table has no place for them.
  if (args.csv) {
    for (const auto& [op, count] : exported.unknown) {
      core::log_warning(core::cat(args.pt2, ": no row for ", op, " (", count, "x)"));
    }
  }
  return {std::move(exported.table), exported.parameters, std::move(exported.unknown)};
}

std::string layers_output(const LayersArgs& args) {
  if (!args.zoo.empty()) return write_zoo(args);
  if (args.model.empty() == args.pt2.empty()) {
    throw UsageError("layers: give either --model or --pt2 (see 'adagp layers --help')");
  }
  if (args.coverage) return model_coverage(args);
  FoundTable found = args.pt2.empty() ? model_table(args) : exported_table(args);
  if (!args.all) found.table = layers::only_products(std::move(found.table));
  return args.csv    ? layers::to_csv(found.table)
         : args.json ? layers_json(found)
                     : layers_text(found);
}

int run_layers(const LayersArgs& args) {
  const std::string text = layers_output(args);
  if (args.output.empty()) {
    core::print_result(text, args.csv || args.json);
  } else {
    core::write_output(args.output, text);
  }
  return 0;
}

}  // namespace

void add_layers(CLI::App& app, Action& action) {
  auto args = std::make_shared<LayersArgs>();
  CLI::App* command =
      app.add_subcommand("layers", "The layer table of a network: shapes, MACs, weights");
  CLI::Option* model =
      command->add_option("--model", args->model, "Network (see 'adagp list models')");
  CLI::Option* pt2 =
      command->add_option("--pt2", args->pt2, "A network saved by Python's torch.export.save")
          ->excludes(model)
          ->type_name("FILE");
  command
      ->add_option("--input", args->input,
                   "imagenet, cifar, HxW or tokens:SRC,TGT (default: as published)")
      ->excludes(pt2);
  command
      ->add_option("--classes", args->classes,
                   "Classes (default: 1000, in cifar form 10, detection 80)")
      ->excludes(pt2);
  command->add_option("--words", args->words, "Vocabularies of a translation: SRC,TGT")
      ->excludes(pt2);
  command
      ->add_option("--form", args->form,
                   "imagenet or cifar (default: cifar up to 32x32 pixels, else imagenet)")
      ->excludes(pt2);
  command
      ->add_option("--batch", args->batch,
                   "Examples in the exported input (default: its first size)")
      ->needs(pt2)
      ->check(CLI::PositiveNumber);
  command->add_flag("--all", args->all,
                    "Also norms, activations, pools and other operations without MACs");
  CLI::Option* csv = command->add_flag("--csv", args->csv, "CSV, as layers.csv of a run");
  command->add_flag("--json", args->json, "JSON")->excludes(csv);
  CLI::Option* coverage =
      command
          ->add_flag("--coverage", args->coverage,
                     "Which parameters a GP step predicts, computes or leaves alone")
          ->excludes(pt2);
  command->add_option("--head", args->head, "Treatment of the classifier: predicted, exact, frozen")
      ->needs(coverage)
      ->capture_default_str();
  command->add_option("--zoo", args->zoo, "Write the tables of all networks there, as CSV")
      ->excludes(model)
      ->excludes(pt2)
      ->type_name("FOLDER");
  command->add_option("-o,--output", args->output, "Write to a file instead of stdout")
      ->type_name("FILE");
  command->callback([args, &action] { action = [args] { return run_layers(*args); }; });
}

}  // namespace adagp::apps
