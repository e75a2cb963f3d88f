// adagp layers: the layer table of a network of ours, or of an exported one.

#include "layers.h"

#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/exchange/formats.h"
#include "adagp/sim/layers/onnx.h"
#include "adagp/sim/layers/pt2.h"
#include "adagp/sim/zoo/zoo.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

template <typename Sizes>
std::string times(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const int64_t size : sizes) parts.push_back(std::to_string(size));
  return core::join(parts, "x");
}

// Rows without depth or dilation show the sizes they have always had.
std::string with_depth(int64_t depth, int64_t usual, const std::string& sizes) {
  return depth == usual ? sizes : core::cat(depth, "x", sizes);
}

std::string kernel_text(const layers::Row& row) {
  const std::string kernel = with_depth(row.depth.kernel, 1, times(row.kernel));
  if (row.dilation == decltype(row.dilation){1, 1} && row.depth.dilation == 1) return kernel;
  return kernel + " dilated " + with_depth(row.depth.dilation, 1, times(row.dilation));
}

std::string map_text(const std::array<int64_t, 3>& sizes, int64_t depth) {
  if (depth == 1) return times(sizes);
  return times(std::array<int64_t, 4>{sizes[0], depth, sizes[1], sizes[2]});
}

std::string layers_text(const FoundTable& found) {
  const layers::Table& table = found.table;
  report::Table lines({"<layer", "<op", "input", "output", "kernel", "stride", "padding", "groups",
                       "MACs", "weights"});
  size_t products = 0;
  for (const layers::Row& row : table.rows) {
    lines.add_row({row.name, row.op, map_text(row.input, row.depth.input),
                   map_text(row.output, row.depth.output), kernel_text(row),
                   with_depth(row.depth.stride, 1, times(row.stride)),
                   with_depth(row.depth.padding, 0, times(row.padding)), std::to_string(row.groups),
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
  if (found.exported_batch) out += found.batch_note + "\n";
  for (const layers::Uncounted& one : table.uncounted) {
    const std::string macs = !one.macs        ? "MACs unknown"
                             : *one.macs == 0 ? "no MACs"
                                              : core::grouped(*one.macs) + " MACs";
    out += core::cat("without a row: ", one.name, " (", one.op, "), ", one.times,
                     one.times == 1 ? " time, " : " times, ", macs, "\n");
  }
  const std::string missing = layers::missing_text(table);
  return missing.empty() ? out : out + missing + "\n";
}

std::string layers_json(const FoundTable& found) {
  auto out = nlohmann::ordered_json::parse(layers::to_json(found.table));
  if (found.parameters) out["parameters"] = *found.parameters;
  if (found.exported_batch) out["exported_batch"] = *found.exported_batch;
  if (found.exported_batch) out["batch_note"] = found.batch_note;
  return out.dump(2) + "\n";
}

layers::Exported read_exported(const LayersArgs& args) {
  if (args.onnx.empty()) return layers::read_pt2(args.pt2, args.batch);
  layers::OnnxInputs inputs{args.batch, {}};
  if (!args.input.empty()) inputs.sizes = layers::parse_onnx_sizes(args.input);
  return layers::read_onnx(args.onnx, inputs);
}

FoundTable exported_table(const LayersArgs& args) {
  const std::string& file = args.onnx.empty() ? args.pt2 : args.onnx;
  layers::Exported exported = read_exported(args);
  if (exported.table.rows.empty()) {
    throw DataError(file + ": has no operation that a layer table could show");
  }
  // The text and JSON say it themselves; rows of a CSV table are easily overlooked.
  if (args.csv) {
    const std::string missing = layers::missing_text(exported.table);
    if (!missing.empty()) core::log_warning(file + ": " + missing);
    core::log_info(file + ": " + exported.note);
  }
  return {std::move(exported.table), exported.parameters, exported.batch, exported.note};
}

FoundTable found_table(const LayersArgs& args) {
  if (!args.pt2.empty() || !args.onnx.empty()) return exported_table(args);
  if (args.table.empty()) return model_table(args);
  return {layers::from_csv(core::read_file(args.table), args.table), {}, {}, {}};
}

// --to: returns a line that says what was written.
std::string write_for_simulator(const LayersArgs& args, const layers::Table& table) {
  const accel::Accelerator accelerator = zoo::accelerator(args.accelerator);
  return exchange::write_files(args.to.at(0), {table, accelerator, args.examples}, args.to.at(1));
}

std::string layers_output(const LayersArgs& args) {
  if (!args.zoo.empty()) return write_zoo(args);
  const bool exported = !args.pt2.empty() || !args.onnx.empty();
  if (args.model.empty() && args.table.empty() && !exported) {
    throw UsageError("layers: give --model, --pt2, --onnx or --table (see 'adagp layers --help')");
  }
  if (args.batch != 0 && !exported) throw UsageError("layers: --batch needs --pt2 or --onnx");
  if (args.coverage) return model_coverage(args);
  FoundTable found = found_table(args);
  if (!args.to.empty()) return write_for_simulator(args, found.table);
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
  CLI::Option* onnx = command->add_option("--onnx", args->onnx, "A network in an ONNX file")
                          ->excludes(model, pt2)
                          ->type_name("FILE");
  CLI::Option* table =
      command->add_option("--table", args->table, "A layer table (CSV) instead of a model")
          ->excludes(model, pt2, onnx)
          ->type_name("FILE");
  command
      ->add_option("--input", args->input,
                   "Input of the network: imagenet, cifar, HxW or tokens:SRC,TGT (default: as "
                   "published); of an ONNX file that leaves sizes free, those of one example: "
                   "3x224x224")
      ->excludes(pt2, table);
  add_number(*command, "--classes", args->classes,
             "Classes (default: 1000, in cifar form 10, detection 80)", 1)
      ->excludes(pt2, onnx, table);
  command->add_option("--words", args->words, "Vocabularies of a translation: SRC,TGT")
      ->excludes(pt2, onnx, table);
  command
      ->add_option("--form", args->form,
                   "Form of the network: imagenet or cifar (default: cifar up to 32x32 pixels, "
                   "else imagenet)")
      ->excludes(pt2, onnx, table);
  add_number(*command, "--batch", args->batch,
             "Examples in the exported input (default: its first size; 1 where that is free)", 1);
  command->add_flag("--all", args->all,
                    "Also norms, activations, pools and other operations without MACs");
  CLI::Option* csv = command->add_flag("--csv", args->csv, "CSV, as layers.csv of a run");
  CLI::Option* json = command->add_flag("--json", args->json, "JSON")->excludes(csv);
  CLI::Option* to = command
                        ->add_option("--to", args->to,
                                     "Write files for another simulator into a folder: " +
                                         core::join(core::names_of(exchange::formats()), ", "))
                        ->expected(2)
                        ->excludes(csv)
                        ->type_name("FORMAT FOLDER");
  command->add_option("--accelerator", args->accelerator, "Preset or TOML file for --to")
      ->needs(to)
      ->capture_default_str();
  add_number(*command, "--examples", args->examples, "Examples of a batch for --to", 1)
      ->needs(to)
      ->capture_default_str();
  CLI::Option* coverage =
      command
          ->add_flag("--coverage", args->coverage,
                     "Which parameters a GP step predicts, computes or leaves alone")
          ->excludes(pt2, onnx, table);
  command->add_option("--head", args->head, "Treatment of the classifier: predicted, exact, frozen")
      ->needs(coverage)
      ->capture_default_str();
  CLI::Option* zoo =
      command->add_option("--zoo", args->zoo, "Write the tables of all networks there, as CSV")
          ->excludes(model, pt2, onnx, table)
          ->type_name("FOLDER");
  CLI::Option* output =
      command->add_option("-o,--output", args->output, "Write to a file instead of stdout")
          ->type_name("FILE");
  to->excludes(json, coverage, zoo, output);
  command->callback([args, &action] { action = [args] { return run_layers(*args); }; });
}

}  // namespace adagp::apps
