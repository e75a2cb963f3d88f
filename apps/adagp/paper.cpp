// adagp paper: the published evaluation beside ours.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/progress.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/paper.h"
#include "adagp/papers/study/study.h"
#include "adagp/papers/study/systems.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct PaperArgs {
  study::PaperOptions options;
  study::SystemsOptions systems;
  std::string plots;
  bool json = false, networks = false, other_systems = false;
};

int run_systems(const PaperArgs& args) {
  if (!args.plots.empty() || args.networks || !args.options.runs.empty() ||
      args.options.array != study::PaperOptions{}.array) {
    throw UsageError(
        "paper: --systems has no pictures, no accuracies and arrays of its own; leave out --plot, "
        "--networks, --runs and --array");
  }
  study::SystemsOptions options = args.systems;
  options.batch = args.options.batch;
  options.epochs = args.options.epochs;
  options.vector_passes = args.options.vector_passes;
  const auto rows = study::compare_systems(options);
  core::print_result(args.json ? study::systems_json(rows) : study::systems_text(rows), args.json);
  return 0;
}

int run_paper(const PaperArgs& args) {
  if (args.other_systems) return run_systems(args);
  study::PaperResult result;
  {
    core::Progress progress;
    result = study::compare_with_paper(args.options, [&](size_t done, size_t all) {
      progress.show(core::cat("paper: ", done, " of ", all),
                    static_cast<double>(done) / static_cast<double>(all));
    });
  }
  const std::string text =
      args.json ? study::paper_json(result) : study::paper_text(result, args.networks);
  core::print_result(text, args.json);
  if (args.plots.empty()) return 0;
  core::make_folder(args.plots);
  for (const auto& [name, chart] : study::paper_charts(result)) {
    core::write_file(core::fs::path(args.plots) / name, report::svg(chart));
    core::log_info("paper: wrote " + (core::fs::path(args.plots) / name).string());
  }
  return 0;
}

}  // namespace

void add_paper(CLI::App& app, Action& action) {
  auto args = std::make_shared<PaperArgs>();
  CLI::App* command =
      app.add_subcommand("paper", "Every published number of the paper beside ours");
  command->add_flag("--networks", args->networks, "Also a line per network, data set and dataflow");
  command->add_option("--array", args->options.array, "Array of every design")
      ->capture_default_str();
  add_number(*command, "--batch", args->options.batch, "Batch size", 1)->capture_default_str();
  add_number(*command, "--epochs", args->options.epochs, "Epochs", 1, study::kMostEpochs)
      ->capture_default_str();
  command->add_flag("--vector-passes", args->options.vector_passes,
                    "Count norms, activations and updates too; the paper counts products");
  command->add_option(
      "--runs", args->options.runs,
      "Folder of runs, as adagp reproduce paper-table1 leaves them: their accuracies "
      "in place of those of docs/results");
  CLI::Option* systems = command->add_flag(
      "--systems", args->other_systems,
      "Instead: TensorDash, FAST, Procrustes, CAMEL and the in-place array, ADA-GP on top of each");
  command->add_option("--model", args->systems.models, "--systems: networks")
      ->capture_default_str()
      ->needs(systems);
  command->add_option("--input", args->systems.input, "--systems: input of the networks")
      ->capture_default_str()
      ->needs(systems);
  command->add_flag("--json", args->json, "JSON");
  command->add_option("--plot", args->plots, "Folder for pictures (SVG)");
  command->callback([args, &action] { action = [args] { return run_paper(*args); }; });
}

}  // namespace adagp::apps
