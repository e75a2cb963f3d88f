// adagp paper: the published evaluation beside ours.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/progress.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/machines.h"
#include "adagp/papers/study/paper.h"
#include "adagp/papers/study/ranges.h"
#include "adagp/papers/study/study.h"
#include "commands.h"
#include "number_flag.h"

namespace adagp::apps {
namespace {

struct PaperArgs {
  study::PaperOptions options;
  std::string plots, models, input, batch = "128";
  bool json = false, networks = false, other_systems = false;
};

int64_t one_batch(const std::string& text) {
  const auto batches = study::parse_numbers(text, "--batch", kMostWhole);
  if (batches.size() == 1) return batches.front();
  throw UsageError("paper: --batch " + text + ": one batch size is compared with the paper's");
}

int run_systems(const PaperArgs& args) {
  if (!args.plots.empty() || args.networks || !args.options.runs.empty() ||
      args.options.array != study::PaperOptions{}.array) {
    throw UsageError(
        "paper: --systems has no pictures, no accuracies and arrays of its own; leave out --plot, "
        "--networks, --runs and --array");
  }
  study::SystemsOptions options;
  if (!args.models.empty()) options.models = args.models;
  if (!args.input.empty()) options.input = args.input;
  options.batch = args.options.batch;
  options.epochs = args.options.epochs;
  options.vector_passes = args.options.vector_passes;
  const auto rows = study::compare_systems(options);
  core::print_result(args.json ? study::systems_json(rows) : study::systems_text(rows), args.json);
  return 0;
}

int run_paper(PaperArgs& args) {
  args.options.batch = one_batch(args.batch);
  if (args.other_systems) return run_systems(args);
  if (!args.models.empty() || !args.input.empty()) {
    throw UsageError("paper: --model and --input need --systems or --energy");
  }
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
  add_shown(*command, "--array", args->options.array, "Array of every design");
  command->add_option("--batch", args->batch, "Batch size; --energy: also a list or a range")
      ->type_name("NUMBER")
      ->capture_default_str();
  add_number(*command, "--epochs", args->options.epochs, "Epochs", 1, study::kMostEpochs)
      ->capture_default_str();
  command->add_flag("--vector-passes", args->options.vector_passes,
                    "Count norms, activations and updates too; the paper counts products");
  command->add_option(
      "--runs", args->options.runs,
      "Folder of runs, as adagp reproduce paper-table1 leaves them: their accuracies "
      "in place of those of docs/results");
  command->add_flag(
      "--systems", args->other_systems,
      "Instead: TensorDash, FAST, Procrustes, CAMEL and the in-place array, ADA-GP on top of each");
  command->add_option("--model", args->models,
                      "Networks of --systems (default: vgg13_bn,vgg13,resnet50) and --energy "
                      "(default: the paper's 13)");
  command->add_option("--input", args->input,
                      "--systems, --energy: input of the networks (default: imagenet)");
  command->add_flag("--json", args->json, "JSON");
  command->add_option("--plot", args->plots, "Folder for pictures (SVG); --energy: a file");
  const Action energy = add_energy(*command);
  command->callback([args, command, energy, &action] {
    const bool of_energy = command->count("--energy") > 0;
    if (of_energy && !args->options.runs.empty()) {
      throw UsageError("paper: --energy shows no accuracies; leave out --runs");
    }
    action = of_energy ? energy : [args] { return run_paper(*args); };
  });
}

}  // namespace adagp::apps
