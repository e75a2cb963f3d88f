// adagp rtl program, rtl layers: programs for the machine in rtl/ and their cycles.

#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/study.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/accel/rtl_machine.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct RtlArgs {
  study::Options options;
  std::string design = "baseline", format = "fixed", output;
  bool json = false;
};

struct Made {
  study::Study study;
  rtl::Machine machine;
  rtl::NetworkProgram program;
};

Made make(const RtlArgs& args) {
  Made out;
  study::Options options = args.options;
  if (options.models.empty() && options.table.empty()) {
    throw UsageError("rtl: no network: give --model NAME or --table FILE");
  }
  rtl::design_named(args.design);  // or the four names are listed
  options.designs = args.design;
  options.examples = options.examples.value_or(1);  // of `layers`, which runs nothing
  if (options.batches.empty()) options.batches = "1";
  out.study = study::make_study(options);
  if (out.study.cases.size() != 1) {
    throw UsageError(core::cat("rtl: one network, batch size and array at a time, got ",
                               out.study.cases.size(), " combinations"));
  }
  const accel::Point& point = out.study.points[0];
  if (!accel::is_rtl(point.accelerator)) {
    throw UsageError(core::cat("rtl: accelerator '", point.accelerator.name,
                               "' is not the machine in rtl/ (its file has no machine = \"rtl\")"));
  }
  out.machine = accel::rtl_machine(point.accelerator, *point.designs.at(0));
  out.machine.format = rtl::format_named(args.format);
  out.program = rtl::make_program(out.machine, accel::rtl_network(*point.plan));
  return out;
}

int run_program(const RtlArgs& args) {
  const Made made = make(args);
  const rtl::Program& program = made.program.program;
  accel::Run run = made.study.points[0].run;
  if (!args.options.examples) run.batches_per_epoch = 2;
  const rtl::Schedule schedule{run.schedule, run.epochs, run.batches_per_epoch};
  schedule.check();
  if (schedule.at(made.machine, 0) == rtl::Phase::kGp) {
    core::log_warning(
        "the run begins with a GP batch: its first predictions are wrong, since the predictor's "
        "constants and weights come with a BP batch (its cycles are right)");
  }
  rtl::write_program(args.output, {made.machine, schedule, program});
  const auto cycles = [&](rtl::Phase phase) {
    return static_cast<int64_t>(rtl::predict_batch(made.machine, program, phase).cycles);
  };
  nlohmann::ordered_json data{{"file", args.output},
                              {"design", args.design},
                              {"descriptors", program.size()},
                              {"outside_rows", made.program.outside_beats},
                              {"bp_cycles", cycles(rtl::Phase::kBp)}};
  if (made.machine.has_predictor()) data["gp_cycles"] = cycles(rtl::Phase::kGp);
  data["schedule"] = run.schedule.str();
  data["batches"] = schedule.batches();
  data["run_cycles"] = rtl::predict(made.machine, program, schedule).cycles;
  if (args.json) {
    core::print_data(data.dump(2) + "\n");
    return 0;
  }
  std::string text =
      core::cat(args.output, ": ", core::grouped(static_cast<int64_t>(program.size())),
                " descriptors; a BP batch takes ", core::grouped(data["bp_cycles"].get<int64_t>()),
                " cycles");
  if (data.contains("gp_cycles")) {
    text += core::cat(", a GP batch ", core::grouped(data["gp_cycles"].get<int64_t>()));
  }
  text += core::cat("\n", run.epochs, run.epochs == 1 ? " epoch of " : " epochs of ",
                    core::grouped(run.batches_per_epoch), " batches, ", run.schedule.str(), ": ",
                    core::grouped(data["run_cycles"].get<int64_t>()), " cycles");
  core::print(text + "\n");
  return 0;
}

// Each layer's share of a batch beside the formulas of the dataflow `in-place`.
int run_layers(const RtlArgs& args) {
  const Made made = make(args);
  const accel::Point& point = made.study.points[0];
  accel::Accelerator formulas = point.accelerator;
  formulas.machine = "formulas";
  std::vector<accel::LayerCost> costs;
  accel::evaluate(*point.plan, formulas, *point.dataflow, accel::Scope::kBackprop, costs);
  const rtl::LayerCycles cycles = rtl::layer_cycles(made.machine, made.program, rtl::Phase::kBp);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  report::Table table({"<layer", "forward", "formula", "ratio", "backward", "formula", "ratio"});
  size_t next = 0;
  for (size_t l = 0; l < costs.size(); ++l) {
    const std::string& name = point.plan->layers[l].name;
    if (!point.plan->layers[l].product) continue;
    const auto forward = static_cast<int64_t>(cycles.forward[next]),
               backward = static_cast<int64_t>(cycles.backward[next]);
    const int64_t forward_formula = costs[l].forward.array,
                  backward_formula = costs[l].input_gradient.array + costs[l].weight_gradient.array;
    const auto ratio = [](int64_t a, int64_t b) {
      return core::fixed(static_cast<double>(a) / static_cast<double>(b), 3);
    };
    rows.push_back({{"name", name},
                    {"forward", forward},
                    {"forward_formula", forward_formula},
                    {"backward", backward},
                    {"backward_formula", backward_formula}});
    table.add_row({name, core::grouped(forward), core::grouped(forward_formula),
                   ratio(forward, forward_formula), core::grouped(backward),
                   core::grouped(backward_formula), ratio(backward, backward_formula)});
    ++next;
  }
  if (args.json) {
    core::print_data(nlohmann::ordered_json{{"design", args.design},
                                            {"dataflow", point.dataflow->name},
                                            {"layers", std::move(rows)}}
                         .dump(2) +
                     "\n");
    return 0;
  }
  core::print(
      core::cat("Cycles of a BP batch, layer by layer: the machine in rtl/ (with transfers, "
                "activations and updates)\nbeside the products alone by the formula of "
                "dataflow '",
                point.dataflow->name, "'\n\n", table.console()));
  return 0;
}

void add_network(CLI::App& command, RtlArgs& args) {
  study::Options& options = args.options;
  options.accelerators = "rtl-180";
  options.inputs = "cifar";
  command.add_option("--model", options.models, "Network (see 'adagp list models')");
  add_shown(command, "--input", options.inputs,
            "Input of the network: imagenet, cifar, cifar100, ...");
  command.add_option("--table", options.table, "A layer table (CSV) instead of a model");
  command.add_option("--batch", options.batches, "Batch size (default: 1)")->type_name("NUMBERS");
  add_shown(command, "--design", args.design, "Design: baseline, low, efficient or max");
  command.add_option("--array", options.arrays, "Array size (default: the accelerator's, 12x15)");
  add_shown(command, "--accelerator", options.accelerators,
            "Preset or TOML file with machine = \"rtl\"");
  command.add_option("--set", options.settings, "key=value of the accelerator; repeatable");
  command.add_flag("--json", args.json, "JSON");
}

}  // namespace

void add_rtl(CLI::App& app, Action& action) {
  auto args = std::make_shared<RtlArgs>();
  CLI::App* command = app.add_subcommand(
      "rtl", "Programs for the machine in rtl/, and its Verilator model beside the simulator");
  command->require_subcommand(1);

  CLI::App* program =
      command->add_subcommand("program", "A network's training step as descriptors");
  add_network(*program, *args);
  add_shown(*program, "--format", args->format, "Number format: fixed or bf16");
  study::Options& run = args->options;
  run.epochs = 2;
  run.schedule = "1ep bp, 1:1";
  add_shown(*program, "--schedule", run.schedule,
            "BP and GP batches: auto, paper, bp or stretches");
  add_number(*program, "--epochs", run.epochs, "Epochs of the run", 1, study::kMostEpochs)
      ->capture_default_str();
  add_number(*program, "--examples", run.examples, "Of an epoch (default: two batches)", 1,
             study::kMostExamples);
  program->add_option("-o,--output", args->output, "Program file")->required();
  program->callback([args, &action] { action = [args] { return run_program(*args); }; });

  CLI::App* layers =
      command->add_subcommand("layers", "Cycles of each layer beside the simulator's formulas");
  add_network(*layers, *args);
  layers->callback([args, &action] { action = [args] { return run_layers(*args); }; });

  add_rtl_run(*command, action);
}

}  // namespace adagp::apps
