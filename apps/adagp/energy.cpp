// adagp paper --energy: does the claimed saving of energy hold, and for which memories?

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
  bool asked = false, json = false, csv = false;
};

int run_energy(EnergyArgs& args) {
  if (core::trim(args.options.simulation.models).empty()) {
    throw UsageError("paper --energy: --model '" + args.options.simulation.models +
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

// Flags that mean the same in all of `paper`.
void take_shared_flags(const CLI::App& paper, EnergyArgs& args) {
  const auto take = [&](const char* flag, std::string& value) {
    const CLI::Option* option = paper.get_option(flag);
    if (option->count() > 0) value = option->as<std::string>();
  };
  study::Options& simulation = args.options.simulation;
  take("--model", simulation.models);
  take("--input", simulation.inputs);
  take("--array", simulation.arrays);
  take("--batch", simulation.batches);
  take("--plot", args.plot);
  simulation.epochs = paper.get_option("--epochs")->as<int64_t>();
  simulation.products_only = paper.count("--vector-passes") == 0;
  args.json = paper.count("--json") > 0;
}

}  // namespace

Action add_energy(CLI::App& paper) {
  auto args = std::make_shared<EnergyArgs>();
  study::EnergyOptions& options = args->options;
  options.simulation.models = "paper";
  CLI::Option* energy = paper.add_flag(
      "--energy", args->asked,
      "Instead: where the claimed saving of energy holds, over buffer sizes and DRAM energies");
  const auto mine = [&](CLI::Option* option) {
    return option->needs(energy)->group("With --energy");
  };
  const auto text = [&](const char* flag, std::string& value, const char* about) {
    return mine(add_shown(paper, flag, value, about));
  };
  text("--design", options.design, "Design: low, efficient or max");
  text("--buffer", options.buffers, "Bytes of the buffer: a list or a range, 512 to 2097152")
      ->type_name("NUMBERS");
  text("--dram", options.dram, "DRAM energy in pJ per bit: a list or a range of whole numbers")
      ->type_name("NUMBERS");
  text("--value", options.value,
       "Energy that counts: memory (buffer and DRAM accesses, as in Fig. 21) or total");
  mine(add_number(paper, "--target", options.target, "Claimed saving in per cent", 0, 100)
           ->capture_default_str());
  mine(paper.add_flag("--fixed-buffer-energy", options.fixed_buffer_energy,
                      "An access costs what the accelerator says, whatever the buffer's size "
                      "(default: CACTI's energy for the size)"));
  text("--accelerator", options.simulation.accelerators, "Preset or TOML file");
  text("--dataflow", options.simulation.dataflows,
       "Dataflows: ws, is, os, rs, in-place; the result is their mean");
  mine(paper.add_option("--set", options.simulation.settings,
                        "key=value of the accelerator (docs/accelerators.md); repeatable"));
  text("--schedule", options.simulation.schedule,
       "BP and GP batches: auto, paper, bp or stretches");
  mine(add_number(paper, "--examples", options.simulation.examples,
                  "Examples of an epoch (default: the data set's)", 1, study::kMostExamples));
  CLI::Option* csv = mine(paper.add_flag("--csv", args->csv, "CSV, a line per point"));
  mine(add_number(paper, "--threads", options.simulation.threads, "Threads (default: all cores)",
                  0));
  csv->excludes(paper.get_option("--json"));
  energy->excludes(paper.get_option("--systems"), paper.get_option("--networks"));
  return [args, &paper]() -> int {
    take_shared_flags(paper, *args);
    return run_energy(*args);
  };
}

}  // namespace adagp::apps
