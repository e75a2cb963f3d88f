#include "simulate_runs.h"

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/special_files.h"
#include "adagp/papers/study/output.h"
#include "number_flag.h"

namespace adagp::apps {

void add_runs(CLI::App& command, SimulateRunsArgs& args) {
  command
      .add_option("--run", args.folders,
                  "Folders of finished runs: the batches that they really had")
      ->type_name("RUN");
  CLI::Option* method = command.add_option(
      "--method", args.plan.methods,
      "Runs of these methods from a plan, without training: bp, skip, adagp, freeze, "
      "progressive+stored-loss, ...; freeze@20/30: epochs of its own");
  method->type_name("NAMES");
  command
      .add_option("--optimizer", args.plan.optimizer,
                  "--method: words that an update moves: sgd, momentum or adam")
      ->needs(method)
      ->capture_default_str();
  add_number(command, "--seed", args.plan.seed,
             "--method: seed of the rules that leave out examples", 0)
      ->needs(method);
}

void refuse_flags(const CLI::App& command, const SimulateRunsArgs& args) {
  if (!args.given()) return;
  const auto refuse = [&](std::initializer_list<const char*> flags, const std::string& with,
                          const char* why) {
    for (const char* flag : flags) {
      if (command.get_option(flag)->count() == 0) continue;
      throw UsageError("simulate: " + std::string(flag) + " does not go with " + with + why);
    }
  };
  if (args.folders.empty()) {
    refuse({"--plot"}, "--method", ", which has no score to draw; leave it out");
  }
  refuse({"--topology", "--inference", "--machine", "--explain", "--pareto", "--per-layer"},
         args.folders.empty() ? "--method" : "--run", "; leave it out");
  if (args.folders.empty()) return;
  refuse({"--method", "--model", "--input", "--table", "--pt2", "--onnx", "--batch", "--epochs",
          "--examples", "--schedule", "--predictor", "--predictor-channels", "--predictor-pooled",
          "--predictor-summary"},
         "--run", ", which takes it from the run; leave it out");
}

int simulate_training_runs(const study::Options& options, const SimulateRunsArgs& args, bool json,
                           bool csv, const std::string& plot) {
  const auto runs = args.folders.empty() ? study::plan_training_runs(options, args.plan, side_table)
                                         : study::read_training_runs(args.folders);
  const auto costs = study::simulate_runs(runs, options);
  const std::string picture = plot.empty() ? "" : study::run_cost_picture(runs, costs);
  for (const std::string& line : study::run_cost_warnings(runs, costs)) core::log_warning(line);
  core::print_result(json  ? study::dump(study::run_cost_json(runs, costs), 2) + "\n"
                     : csv ? study::run_cost_csv(runs, costs)
                           : study::run_cost_text(runs, costs),
                     json || csv);
  if (!plot.empty()) core::write_output(plot, picture);
  return 0;
}

}  // namespace adagp::apps
