// adagp simulate: training runs or forward passes on accelerators, one or a sweep of them.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/progress.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/details.h"
#include "adagp/papers/study/machines.h"
#include "adagp/papers/study/output.h"
#include "adagp/results/report/chart.h"
#include "adagp/sim/accel/explain.h"
#include "adagp/sim/accel/rtl_machine.h"
#include "commands.h"
#include "number_flag.h"
#include "simulate_runs.h"

namespace adagp::apps {
namespace {

struct SimulateArgs {
  study::Options options;
  study::MachineOptions machine;
  SimulateRunsArgs runs;
  std::string explain, pareto, plot;
  bool json = false, csv = false, per_layer = false;
};

void put(const std::string& text) {
  core::print(text);
}
void put_data(const std::string& text) {
  core::print_data(text);
}

// What the runs have in common, above their table.
std::string run_heading(const study::Study& study) {
  const study::Case& one = study.cases[0];
  const accel::Point& point = study.points[0];
  const bool single = study.cases.size() == 1;
  std::string text =
      single ? core::cat(one.model, ", ", one.input, ", batch ", one.batch, "; ", one.accelerator,
                         ", ", study::array_text(point.accelerator.array), " PEs, ",
                         point.dataflow->name, ", ", core::shortest(point.accelerator.clock_mhz),
                         " MHz")
             : core::cat(study.cases.size(), " runs: ", study::common_places(study));
  if (!point.designs.empty()) {
    text += core::cat("; ", point.run.epochs, " epochs, schedule ", point.run.schedule.str());
    if (single) text += core::cat(", ", point.run.batches_per_epoch, " batches an epoch");
  }
  if (!study.batch_note.empty()) text += "\n" + study.batch_note;
  return text + "\n" + study::missing_lines(study) + "\n";
}

void warn_of_missing(const study::Study& study) {
  const std::string lines = study::missing_lines(study);
  if (!lines.empty()) core::log_warning(core::trim(lines));
}

void print_one(const SimulateArgs& args, const study::Study& study) {
  const study::Details details = study::detail(study, 0);
  if (args.json) {
    put_data(study::json_text(study, 0, details, args.per_layer));
  } else if (args.per_layer) {
    if (!args.csv) put(run_heading(study));
    core::print_result(study::layer_table(study, 0, details, args.csv), args.csv);
  } else if (args.csv) {
    study::write_csv(study, study::all_rows(study), put_data);
  } else {
    put(run_heading(study) + study::console(study, study::all_rows(study)));
    if (study::training(details)) {
      put("\n" + study::phase_table(details));
      put(core::cat("\nBW/FW of the products ",
                    core::fixed(accel::backward_over_forward(details.layers), 3),
                    "; peak activations: BP batch ",
                    core::human_bytes(static_cast<double>(details.training.peak_backprop_bytes)),
                    ", GP batch ",
                    core::human_bytes(static_cast<double>(details.training.peak_predict_bytes)),
                    "\n", study::second_array_line(details)));
    }
  }
  if (!args.plot.empty()) {
    core::write_output(args.plot, report::svg(study::layer_chart(study, 0, details)));
  }
}

void print_many(const SimulateArgs& args, const study::Study& study) {
  const bool front = !args.pareto.empty();
  const auto fronts =
      front ? study::pareto_fronts(study, args.pareto) : std::vector<study::Front>{};
  const auto rows = front ? study::rows_of(fronts) : study::all_rows(study);
  if (!args.plot.empty()) {
    core::write_output(args.plot, front
                                      ? report::svg(study::front_chart(study, fronts, args.pareto))
                                      : report::svg(study::runs_chart(study, rows)));
  }
  if (args.json && args.per_layer) {
    study::write_details(study, put_data);
  } else if (args.json) {
    study::write_json(study, rows, put_data);
  } else if (args.csv) {
    study::write_csv(study, rows, put_data);
  } else {
    put(run_heading(study) + study::console(study, rows));
  }
}

int run_on_machine(const SimulateArgs& args) {
  if (args.csv || !args.explain.empty() || !args.pareto.empty()) {
    throw UsageError(
        "simulate: --machine prints text or --json; leave out --csv, --explain and --pareto");
  }
  const study::MachineResult result = study::run_machine(args.options, args.machine);
  core::print_result(args.json ? study::machine_json(result, args.per_layer)
                               : study::machine_text(result, args.per_layer),
                     args.json);
  if (!args.plot.empty()) core::write_output(args.plot, study::machine_picture(result));
  return 0;
}

int run_simulate(const SimulateArgs& args) {
  if (!args.machine.machine.empty()) return run_on_machine(args);
  if (!args.machine.trace.empty() || !args.machine.sparsity.empty() || !args.machine.bits.empty()) {
    throw UsageError("simulate: --trace, --sparsity and --bits are for --machine NAME");
  }
  if (args.runs.given()) {
    return simulate_training_runs(args.options, args.runs, args.json, args.csv, args.plot);
  }
  study::Study study = study::make_study(args.options);
  const size_t runs = study.cases.size();
  const bool single = runs == 1 && args.pareto.empty();
  if (runs > 1 && !args.explain.empty()) {
    throw UsageError(core::cat("simulate: --explain is for one run, got ", runs));
  }
  if (!single && args.per_layer && (!args.json || !args.pareto.empty())) {
    throw UsageError(
        core::cat("simulate: --per-layer of several runs needs --json and no --pareto, "
                  "got ",
                  runs, runs == 1 ? " run" : " runs"));
  }
  if (args.per_layer) {
    for (const accel::Point& point : study.points) {
      accel::refuse_rtl(point.accelerator, "single layers");
    }
  }
  if (!args.explain.empty()) {
    if (args.json || args.csv || args.per_layer || !args.plot.empty() || !args.pareto.empty()) {
      throw UsageError(
          "simulate: --explain prints text and nothing else; for numbers give --per-layer with "
          "--json or --csv and no --explain");
    }
    const accel::Point& point = study.points[0];
    warn_of_missing(study);
    put(accel::explain(*point.plan, point.accelerator, *point.dataflow, args.explain));
    return 0;
  }
  {
    core::Progress progress;
    study::run(study, args.options.threads, [&](size_t done) {
      if (runs > 1) {
        progress.show(core::cat("simulate: ", done, " of ", runs),
                      static_cast<double>(done) / static_cast<double>(runs));
      }
    });
  }
  if (const std::string memory = study::predictor_memory_text(study); !memory.empty()) {
    core::log_warning(memory);
  }
  // Text and JSON say it themselves; CSV has columns of it, which are easily overlooked.
  if (args.csv) warn_of_missing(study);
  single ? print_one(args, study) : print_many(args, study);
  return 0;
}

void add_inputs(CLI::App& command, study::Options& options) {
  command.add_option("--model", options.models, "Networks, or 'all' (see 'adagp list models')");
  CLI::Option* input = add_shown(command, "--input", options.inputs,
                                 "Input of the networks: imagenet, cifar, cifar100, ...");
  command.add_option("--table", options.table, "A layer table (CSV) instead of a model")
      ->excludes(input);
  command
      .add_option("--pt2", options.pt2,
                  "A network saved by Python's torch.export.save instead of a model")
      ->excludes(input)
      ->type_name("FILE");
  command.add_option("--onnx", options.onnx, "A network in an ONNX file instead of a model")
      ->excludes(input)
      ->type_name("FILE");
  command.add_option("--topology", options.topology, "A SCALE-Sim topology instead of a model")
      ->excludes(input);
  add_shown(command, "--topology-kind", options.topology_kind,
            "Kind of the topology: conv or gemm");
  command.add_option("--batch", options.batches, "Batch sizes (default: 128, for inference 1)")
      ->type_name("NUMBERS");
  command.add_flag("--inference", options.inference, "The forward pass alone");
}

CLI::Option* add_machine(CLI::App& command, study::Options& options) {
  CLI::Option* accelerator =
      add_shown(command, "--accelerator", options.accelerators, "Presets or TOML files");
  command.add_option("--array", options.arrays, "Array sizes, as 12x15 or 8..64:8x8..64:8");
  command.add_option("--dataflow", options.dataflows,
                     "Dataflows: ws, is, os, rs, in-place, or 'all'");
  command.add_option("--set", options.settings,
                     "key=value of the accelerator (docs/accelerators.md); repeatable");
  command.add_flag("--products-only", options.products_only,
                   "Leave out vector passes (norms, activations, updates)");
  return accelerator;
}

void add_other_machine(CLI::App& command, study::MachineOptions& machine) {
  command.add_option("--machine", machine.machine,
                     "A machine of `adagp list machines` (docs/systems.md): compared with itself "
                     "without its trick, then --designs on top");
  command.add_option("--trace", machine.trace, "--machine: operands from a run's traces")
      ->type_name("RUN");
  command.add_option("--sparsity", machine.sparsity,
                     "--machine: shares of zeros, or of what is left out, as x=0.5,dy=0,w=0.9");
  command.add_option("--bits", machine.bits, "--machine: mantissa bits, as w=2,a=2,g=4");
}

void add_training(CLI::App& command, study::Options& options) {
  add_shown(command, "--designs", options.designs,
            "Designs of ADA-GP: baseline, low, efficient, max, or 'all'");
  add_number(command, "--epochs", options.epochs, "Epochs of training", 1, study::kMostEpochs)
      ->capture_default_str();
  add_number(command, "--examples", options.examples,
             "Examples of an epoch (default: the data set's)", 1, study::kMostExamples);
  add_shown(command, "--schedule", options.schedule,
            "BP and GP batches: auto, paper, bp or stretches");
  add_shown(command, "--predictor", options.predictor_kind, "Predictor: shared or remap");
  const auto numbers = [&](const char* name, std::string& value, const char* about) {
    command.add_option(name, value, about)->type_name("NUMBERS");
  };
  numbers("--predictor-channels", options.predictor_channels,
          "Channels of the predictor (default 16)");
  numbers("--predictor-pooled", options.predictor_pooled,
          "Side of the predictor's map before its last layer (default 4)");
  numbers("--predictor-summary", options.predictor_summary,
          "Side of the predictor's input (default 8)");
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  auto args = std::make_shared<SimulateArgs>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Training runs or forward passes on an accelerator: cycles, energy, speed-ups");
  add_inputs(*command, args->options);
  CLI::Option* accelerator = add_machine(*command, args->options);
  add_other_machine(*command, args->machine);
  add_training(*command, args->options);
  CLI::Option* csv = command->add_flag("--csv", args->csv, "CSV");
  command->add_flag("--json", args->json, "JSON; of several runs an array")->excludes(csv);
  command->add_flag("--per-layer", args->per_layer,
                    "A line per layer; of several runs with --json");
  command->add_option("--explain", args->explain, "One layer: its formulas with the numbers");
  command->add_option(
      "--pareto", args->pareto,
      "Of each network only what nothing else beats in two of cycles, energy, time, pes");
  command->add_option(
      "--plot", args->plot,
      "Write a picture (SVG): layers of one run, speed-ups of several, or --pareto's fronts; of "
      "--machine speed-ups by layer, of camel lifetimes");
  add_number(*command, "--threads", args->options.threads,
             "Threads of a sweep (default: all cores)", 0);
  add_runs(*command, args->runs);
  command->footer(
      "Lists (a,b) and ranges (8..64:8, 8..64*2) of models, inputs, arrays, dataflows, batches "
      "and\n"
      "predictor sizes make a sweep over all combinations. Formulas: docs/simulator.md.");
  command->callback([args, command, accelerator, &action] {
    // A machine has a preset of its own.
    if (!args->machine.machine.empty() && accelerator->count() == 0) {
      args->options.accelerators.clear();
    }
    action = [args, command] {
      refuse_flags(*command, args->runs);
      return run_simulate(*args);
    };
  });
}

}  // namespace adagp::apps
