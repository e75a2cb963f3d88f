// adagp energy: does the claimed saving of energy hold, and for which memories?

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/progress.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/energy_map.h"
#include "adagp/results/report/chart.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct EnergyArgs {
  study::EnergyOptions options;
  std::string plot;
  bool json = false, csv = false, vector_passes = false;
};

int run_energy(EnergyArgs& args) {
  args.options.simulation.products_only = !args.vector_passes;
  if (core::trim(args.options.simulation.models).empty()) {
    throw UsageError("energy: --model '" + args.options.simulation.models +
                     "' names no network; expected names (adagp list models) or paper");
  }
  study::EnergyMap map;
  {
    core::Progress progress;
    map = study::energy_map(args.options, [&](size_t done, size_t all) {
      progress.show(core::cat("energy: ", done, " of ", all),
                    static_cast<double>(done) / static_cast<double>(all));
    });
  }
  const std::string picture = args.plot.empty() ? "" : report::svg(study::energy_chart(map));
  const std::string text = args.json  ? study::energy_json(map)
                           : args.csv ? study::energy_csv(map)
                                      : study::energy_text(map);
  core::print_result(text, args.json || args.csv);
  if (!args.plot.empty()) core::write_output(args.plot, picture);
  return 0;
}

}  // namespace

void add_energy(CLI::App& app, Action& action) {
  auto args = std::make_shared<EnergyArgs>();
  study::EnergyOptions& options = args->options;
  options.simulation.models = "paper";
  CLI::App* command = app.add_subcommand(
      "energy", "Where the claimed saving of energy holds: over buffer sizes and DRAM energies");
  const auto text = [&](const char* flag, std::string& value, const char* about) {
    return command->add_option(flag, value, about)->capture_default_str();
  };
  text("--model", options.simulation.models, "Networks, or 'paper' for the paper's 13");
  text("--input", options.simulation.inputs, "Input of the networks: imagenet, cifar, ...");
  text("--design", options.design, "Design: low, efficient or max");
  text("--buffer", options.buffers, "Bytes of the buffer: a list or a range, 512 to 2097152")
      ->type_name("NUMBERS");
  text("--dram", options.dram, "DRAM energy in pJ per bit: a list or a range of whole numbers")
      ->type_name("NUMBERS");
  text("--value", options.value,
       "Energy that counts: memory (buffer and DRAM accesses, as in Fig. 21) or total");
  add_number(*command, "--target", options.target, "Claimed saving in per cent", 0, 100)
      ->capture_default_str();
  command->add_flag("--fixed-buffer-energy", options.fixed_buffer_energy,
                    "An access costs what the accelerator says, whatever the buffer's size "
                    "(default: CACTI's energy for the size)");
  text("--accelerator", options.simulation.accelerators, "Preset or TOML file");
  command->add_option("--array", options.simulation.arrays, "Array, as 12x15");
  command->add_option("--dataflow", options.simulation.dataflows,
                      "Dataflows: ws, is, os, rs, in-place");
  command->add_option("--set", options.simulation.settings,
                      "key=value of the accelerator (docs/accelerators.md); repeatable");
  command->add_option("--batch", options.simulation.batches, "Batch size (default 128)")
      ->type_name("NUMBERS");
  command->add_flag("--vector-passes", args->vector_passes,
                    "Count norms, activations and updates too; the paper counts products");
  text("--schedule", options.simulation.schedule,
       "BP and GP batches: auto, paper, bp or stretches");
  add_number(*command, "--epochs", options.simulation.epochs, "Epochs of training", 1,
             study::kMostEpochs)
      ->capture_default_str();
  add_number(*command, "--examples", options.simulation.examples,
             "Examples of an epoch (default: the data set's)", 1, study::kMostExamples);
  CLI::Option* csv = command->add_flag("--csv", args->csv, "CSV, a line per point");
  command->add_flag("--json", args->json, "JSON")->excludes(csv);
  command->add_option("--plot", args->plot, "Write a picture (SVG)");
  add_number(*command, "--threads", options.simulation.threads, "Threads (default: all cores)", 0);
  command->footer("Several networks, dataflows or batch sizes: the mean of all of them.");
  command->callback([args, &action] { action = [args] { return run_energy(*args); }; });
}

}  // namespace adagp::apps
