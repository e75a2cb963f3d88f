// adagp rtl: programs for the machine in rtl/, and its Verilator model beside the cycle model.

#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/accel/rtl_machine.h"
#include "adagp/core/error.h"
#include "adagp/core/files.h"
#include "adagp/core/log.h"
#include "adagp/core/output.h"
#include "adagp/core/text.h"
#include "adagp/report/table.h"
#include "adagp/study/study.h"
#include "commands.h"

namespace adagp::apps {
namespace {

struct RtlArgs {
  study::Options options;
  std::string design = "baseline", format = "fixed", ratio = "1:1", output, program, model, vcd;
  uint32_t batches = 3, warm = 1, seed = 1;
  double stalls = 0;
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
  options.designs = args.design;
  if (options.batches.empty()) options.batches = "1";
  options.examples = options.examples.value_or(1);  // no run is simulated here
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

rtl::Schedule schedule_of(const RtlArgs& args) {
  rtl::Schedule out;
  out.batches = args.batches;
  out.warm = args.warm;
  const auto colon = args.ratio.find(':');
  const auto number = [&](size_t from, size_t to, int& value) {
    const char* end = args.ratio.data() + to;
    const auto read = std::from_chars(args.ratio.data() + from, end, value);
    return from < to && read.ec == std::errc() && read.ptr == end;
  };
  if (colon == std::string::npos || !number(0, colon, out.k) ||
      !number(colon + 1, args.ratio.size(), out.m)) {
    throw UsageError(core::cat("--ratio ", args.ratio, ": expected GP:BP, as 1:1 or 4:1"));
  }
  out.check();
  return out;
}

int run_program(const RtlArgs& args) {
  const Made made = make(args);
  rtl::write_program(args.output, {made.machine, schedule_of(args), made.program.program});
  const rtl::Counts bp = rtl::predict_batch(made.machine, made.program.program, rtl::Phase::kBp);
  std::string text = core::cat(
      args.output, ": ", core::grouped(static_cast<int64_t>(made.program.program.size())),
      " descriptors; a BP batch takes ", core::grouped(static_cast<int64_t>(bp.cycles)), " cycles");
  if (made.machine.has_predictor()) {
    const rtl::Counts gp = rtl::predict_batch(made.machine, made.program.program, rtl::Phase::kGp);
    text += core::cat(", a GP batch ", core::grouped(static_cast<int64_t>(gp.cycles)));
  }
  core::print(text + "\n");
  return 0;
}

// Each layer's share of a batch beside the formulas of the dataflow `in-place`.
int run_layers(const RtlArgs& args) {
  using report::Align;
  const Made made = make(args);
  const accel::Point& point = made.study.points[0];
  accel::Accelerator formulas = point.accelerator;
  formulas.machine = "formulas";
  std::vector<accel::LayerCost> costs;
  accel::evaluate(*point.plan, formulas, *point.dataflow, accel::Scope::kBackprop, costs);
  const rtl::LayerCycles cycles = rtl::layer_cycles(made.machine, made.program, rtl::Phase::kBp);
  report::Table table({{"layer", Align::kLeft},
                       {"forward"},
                       {"formula"},
                       {"ratio"},
                       {"backward"},
                       {"formula"},
                       {"ratio"}});
  size_t next = 0;
  for (size_t l = 0; l < costs.size(); ++l) {
    if (!point.plan->layers[l].product) continue;
    const auto forward = static_cast<int64_t>(cycles.forward[next]),
               backward = static_cast<int64_t>(cycles.backward[next]);
    const int64_t forward_formula = costs[l].forward.array,
                  backward_formula = costs[l].input_gradient.array + costs[l].weight_gradient.array;
    const auto ratio = [](int64_t a, int64_t b) {
      return core::fixed(static_cast<double>(a) / static_cast<double>(b), 3);
    };
    table.add_row({point.plan->layers[l].name, core::grouped(forward),
                   core::grouped(forward_formula), ratio(forward, forward_formula),
                   core::grouped(backward), core::grouped(backward_formula),
                   ratio(backward, backward_formula)});
    ++next;
  }
  core::print(
      core::cat("Cycles of a BP batch, layer by layer: the machine in rtl/ (with transfers, "
                "activations and updates)\nbeside the products alone by the formula of "
                "dataflow '",
                point.dataflow->name, "'\n\n", table.console()));
  return 0;
}

// The words of a command line, quoted for a shell.
std::string quoted(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += out.empty() ? "'" : " '";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += "'";
  }
  return out;
}

// What the command prints on its standard output; its exit code is handed on as an error.
std::string output_of(const std::vector<std::string>& words) {
  std::FILE* pipe = popen(quoted(words).c_str(), "r");
  if (pipe == nullptr) throw Error(core::cat("rtl: cannot start ", words[0]));
  std::string out;
  char part[4096];
  for (size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) out.append(part, n);
  const int status = pclose(pipe);
  if (status == 0) return out;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  const std::string text = core::cat("rtl: ", words[0], " ended with exit code ", code);
  if (code == 2) throw UsageError(text);
  if (code == 3) throw DataError(text);
  throw Error(text);
}

// The Verilator model of the program's machine: given, or built by the script of a checkout.
std::string model_of(const RtlArgs& args, const rtl::Machine& machine) {
  if (!args.model.empty()) {
    if (access(args.model.c_str(), X_OK) != 0 || core::fs::is_directory(args.model)) {
      throw UsageError(core::cat("--model ", args.model, ": no executable file"));
    }
    return args.model;
  }
  const char* script = "scripts/rtl_model.sh";
  if (!core::fs::exists(script)) {
    throw UsageError(
        core::cat("rtl run: no model: give --model PATH (", script,
                  " of the sources builds it and prints its path), or call this in the "
                  "folder of the sources"));
  }
  core::log_info("rtl run: building the Verilator model (a minute the first time)");
  std::vector<std::string> words{script,
                                 rtl::kDesignNames[static_cast<int>(machine.design)],
                                 core::cat(machine.rows, "x", machine.cols),
                                 rtl::kFormatNames[static_cast<int>(machine.format)],
                                 "--predictor",
                                 core::cat(machine.pred_rows, "x", machine.pred_cols),
                                 "--bits",
                                 core::cat(machine.x_bits, ",", machine.y_bits, ",", machine.w_bits,
                                           ",", machine.predictor_bits),
                                 "--descriptor-bits",
                                 std::to_string(machine.descriptor_bits)};
  if (machine.pred_three_modes) words.insert(words.end(), {"--predictor-modes", "3"});
  if (machine.format == rtl::Format::kBf16) words.push_back("--dpi");
  if (!args.vcd.empty()) words.push_back("--trace");
  return core::trim(output_of(words));
}

// With a slow outside memory: cycles between the simulator's and those plus the stalls, all other
// counts but the stalls' own and the DMA's busy cycles equal.
bool within_stalls(const nlohmann::json& seen) {
  const nlohmann::json &events = seen["events"], &model = seen["simulator"];
  const auto at = [](const nlohmann::json& from, const char* name) {
    return from.value(name, int64_t{0});
  };
  for (const auto& [name, value] : events.items()) {
    const bool slowed = name == "cycles" || name == "dma_stalls" || name == "busy_dma";
    if (!slowed && value != model.value(name, nlohmann::json())) return false;
  }
  const int64_t least = at(model, "cycles"), cycles = at(events, "cycles");
  return cycles >= least && cycles <= least + at(events, "dma_stalls");
}

int run_run(const RtlArgs& args) {
  const rtl::ProgramFile file = rtl::read_program(args.program);
  std::vector<std::string> words{model_of(args, file.machine), args.program};
  if (args.stalls > 0) {
    words.insert(words.end(), {"--stalls", core::shortest(args.stalls)});
    words.insert(words.end(), {"--seed", std::to_string(args.seed)});
  }
  if (!args.vcd.empty()) words.insert(words.end(), {"--vcd", args.vcd});
  const std::string text = output_of(words);
  const nlohmann::json seen = nlohmann::json::parse(text, nullptr, false);
  if (seen.is_discarded() || !seen.contains("events") || !seen.contains("simulator")) {
    throw DataError(core::cat("rtl run: ", words[0], " printed no counters; is it a model that ",
                              "scripts/rtl_model.sh built?"));
  }
  const bool agree = args.stalls > 0 ? within_stalls(seen) : seen.value("equal", false);
  if (args.json) {
    core::print_data(seen.dump(2) + "\n");
  } else {
    using report::Align;
    report::Table table({{"event", Align::kLeft}, {"RTL"}, {"simulator"}});
    for (const auto& [name, value] : seen["events"].items()) {
      table.add_row({name, core::grouped(value.get<int64_t>()),
                     core::grouped(seen["simulator"].value(name, int64_t{0}))});
    }
    core::print(table.console());
    core::print(agree ? args.stalls > 0 ? "\nequal but for the stalls\n" : "\nall equal\n"
                      : "\nnot equal\n");
  }
  return agree ? 0 : 1;
}

void add_network(CLI::App& command, RtlArgs& args) {
  study::Options& options = args.options;
  options.accelerators = "rtl-180";
  options.inputs = "cifar";
  command.add_option("--model", options.models, "Network (see 'adagp list models')");
  command.add_option("--input", options.inputs, "imagenet, cifar, cifar100, ...")
      ->capture_default_str();
  command.add_option("--table", options.table, "A layer table (CSV) instead of a model");
  command.add_option("--batch", options.batches, "Batch size (default: 1)");
  command.add_option("--design", args.design, "baseline, low, efficient or max")
      ->capture_default_str();
  command.add_option("--array", options.arrays, "Array size (default: the accelerator's, 12x15)");
  command
      .add_option("--accelerator", options.accelerators,
                  "Preset or TOML file with machine = \"rtl\"")
      ->capture_default_str();
  command.add_option("--set", options.settings, "key=value of the accelerator; repeatable");
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
  program->add_option("--format", args->format, "fixed or bf16")->capture_default_str();
  program->add_option("--batches", args->batches, "Batches to run")->capture_default_str();
  program->add_option("--warm", args->warm, "Batches of warm-up among them")->capture_default_str();
  program->add_option("--ratio", args->ratio, "GP:BP batches after the warm-up")
      ->capture_default_str();
  program->add_option("-o,--output", args->output, "Program file")->required();
  program->callback([args, &action] { action = [args] { return run_program(*args); }; });

  CLI::App* layers =
      command->add_subcommand("layers", "Cycles of each layer beside the simulator's formulas");
  add_network(*layers, *args);
  layers->callback([args, &action] { action = [args] { return run_layers(*args); }; });

  CLI::App* run = command->add_subcommand("run", "Runs a program on the Verilator model");
  run->add_option("program", args->program, "Program file")->required();
  run->add_option("--model", args->model,
                  "The model's executable (default: scripts/rtl_model.sh builds it)");
  run->add_option("--stalls", args->stalls, "Share of cycles in which the outside memory stalls")
      ->check(CLI::Range(0.0, 0.99));
  run->add_option("--seed", args->seed, "Of the stalls")->capture_default_str();
  run->add_option("--vcd", args->vcd, "Write a waveform");
  run->add_flag("--json", args->json, "JSON");
  run->footer(
      "Exit code 1: the RTL and the simulator differ. With --stalls, cycles may be as many more as "
      "the\n"
      "memory stalled.");
  run->callback([args, &action] { action = [args] { return run_run(*args); }; });
}

}  // namespace adagp::apps
