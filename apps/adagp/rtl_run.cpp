// adagp rtl run: a program on the Verilator model, beside the cycle model.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/rtl/descriptor.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct RunArgs {
  std::string program, model, vcd;
  uint32_t seed = 1;
  double stalls = 0;
  bool json = false;
};

// What the command prints on its standard output; its exit code is handed on as an error.
std::string output_of(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(core::shell_word(word));
  std::FILE* pipe = popen(core::join(quoted, " ").c_str(), "r");
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

// The Verilator model of the program's machine: given, or built by the script of the sources that
// this program was built from. Nothing of the present folder is run because of its name alone.
std::string model_of(const RunArgs& args, const rtl::Machine& machine) {
  if (!args.model.empty()) {
    if (args.model.find('/') == std::string::npos) {
      throw UsageError(core::cat("--model ", args.model,
                                 ": expected a path with a slash, such as ./", args.model));
    }
    if (access(args.model.c_str(), X_OK) != 0 || core::fs::is_directory(args.model)) {
      throw UsageError(core::cat("--model ", args.model, ": no executable file"));
    }
    return args.model;
  }
  const std::string script = ADAGP_SOURCE_DIR "/rtl/tools/model.sh";
  std::error_code ignored;
  if (!core::fs::is_regular_file(script, ignored)) {
    throw UsageError(
        core::cat("rtl run: no model: ", script,
                  ", of the sources of this program, is not there; give --model PATH "
                  "(rtl/tools/model.sh of the sources builds it and prints its path)"));
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
    const bool slowed = name.ends_with("cycles") || name == "dma_stalls" || name == "busy_dma";
    if (!slowed && value != model.value(name, nlohmann::json())) return false;
  }
  const int64_t least = at(model, "cycles"), cycles = at(events, "cycles");
  const int64_t phases =
      at(events, "warm_cycles") + at(events, "bp_cycles") + at(events, "gp_cycles");
  return seen.value("phases_in_order", false) && phases == cycles && cycles >= least &&
         cycles <= least + at(events, "dma_stalls");
}

int run_run(const RunArgs& args) {
  const rtl::ProgramFile file = rtl::read_program(args.program);
  std::vector<std::string> words{model_of(args, file.machine), args.program};
  if (args.stalls > 0) {
    words.insert(words.end(), {"--stalls", core::shortest(args.stalls)});
    words.insert(words.end(), {"--seed", std::to_string(args.seed)});
  }
  if (!args.vcd.empty()) words.insert(words.end(), {"--vcd", args.vcd});
  const std::string text = output_of(words);
  const nlohmann::json seen = core::try_parse_json(text).value_or(nlohmann::json());
  if (!seen.contains("events") || !seen.contains("simulator")) {
    throw DataError(core::cat("rtl run: ", words[0], " printed no counters; is it a model that ",
                              "rtl/tools/model.sh built?"));
  }
  const bool agree = args.stalls > 0 ? within_stalls(seen) : seen.value("equal", false);
  if (args.json) {
    core::print_data(seen.dump(2) + "\n");
  } else {
    report::Table table({"<event", "RTL", "simulator"});
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

}  // namespace

void add_rtl_run(CLI::App& rtl, Action& action) {
  auto args = std::make_shared<RunArgs>();
  CLI::App* run = rtl.add_subcommand("run", "Runs a program on the Verilator model");
  run->add_option("program", args->program, "Program file")->required();
  run->add_option(
      "--model", args->model,
      "Path of the model's executable (default: rtl/tools/model.sh of the sources builds it)");
  add_number(*run, "--stalls", args->stalls, "Share of cycles in which the outside memory stalls",
             0, 0.99);
  add_number(*run, "--seed", args->seed, "Of the stalls", 0, std::numeric_limits<uint32_t>::max())
      ->capture_default_str();
  run->add_option("--vcd", args->vcd, "Write a waveform");
  run->add_flag("--json", args->json, "JSON");
  run->footer(
      "Exit code 1: the RTL and the simulator differ. With --stalls, cycles may be as many more as "
      "the\n"
      "memory stalled.");
  run->callback([args, &action] { action = [args] { return run_run(*args); }; });
}

}  // namespace adagp::apps
