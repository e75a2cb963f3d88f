// adagp bench: step times per phase against the limit.

#include <memory>
#include <optional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/provenance.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/table.h"
#include "adagp/lab/experiment/bench.h"
#include "adagp/lab/experiment/peak_memory.h"
#include "adagp/lab/experiment/roofline.h"
#include "commands.h"
#include "number_flag.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

struct BenchArguments {
  TrainFlags flags;
  std::string input, method, only;
  int repeats = 20;
  bool json = false, roofline = false, csv = false, markdown = false;
  std::optional<std::string> models;
  std::string plot;
  double peak_gflops = 0, peak_bandwidth = 0;  // 0: measured
};

report::MachineLimits given_limits(const BenchArguments& arguments) {
  report::MachineLimits given;
  given.flops = 1e9 * arguments.peak_gflops;
  given.bytes = 1e9 * arguments.peak_bandwidth;
  return given;
}

std::vector<std::string> models_of(const BenchArguments& arguments) {
  if (!arguments.models) return {};
  if (core::trim(*arguments.models) == "all") return experiment::roofline_models();
  std::vector<std::string> models;
  for (const std::string& part : core::split(*arguments.models, ',')) {
    if (!core::trim(part).empty()) models.push_back(core::trim(part));
  }
  if (models.empty()) {
    throw UsageError("--models '" + *arguments.models +
                     "': names no network; expected names with commas (vgg13_bn,resnet18) or all");
  }
  return models;
}

int run_roofline(const BenchArguments& arguments) {
  // First: a path that cannot be written is to be said before minutes of measuring.
  if (!arguments.plot.empty()) core::check_output(arguments.plot);
  const auto result =
      experiment::roofline(arguments.flags.resolve(), arguments.input, arguments.repeats,
                           models_of(arguments), given_limits(arguments));
  const bool data = arguments.json || arguments.csv;
  core::print_result(arguments.json       ? report::roofline_json(result).dump(2) + "\n"
                     : arguments.csv      ? report::roofline_csv(result)
                     : arguments.markdown ? report::roofline_markdown(result)
                                          : report::roofline_text(result),
                     data);
  // Last: a picture that cannot be written must not cost the figures.
  if (!arguments.plot.empty()) {
    core::write_output(arguments.plot, report::svg(report::roofline_chart(result)));
  }
  return 0;
}

config::RunConfig configured(const BenchArguments& arguments) {
  config::RunConfig config = arguments.flags.resolve();
  if (!arguments.method.empty()) config.method = arguments.method;
  const bool asked = !arguments.method.empty() || arguments.only == "method";
  if (method::find_method(config.method).mixes && asked) {
    throw UsageError("--method " + config.method +
                     ": its batches are those of other methods; name one of them");
  }
  if (arguments.only == "method" && !experiment::times_method(config)) {
    throw UsageError(
        "--only method needs --method NAME; for bp and adagp use --only bp and --only bp-train");
  }
  return config;
}

// This command once more, for one step of one kind.
double peak_of_step(const std::string& kind) {
  std::vector<std::string> words = core::command();
  words.insert(words.end(), {"--only", kind, "--repeats", "1"});
  return experiment::peak_of_program(words);
}

int run_bench(const BenchArguments& arguments) {
  if (arguments.roofline) return run_roofline(arguments);
  const auto result = experiment::bench(configured(arguments), arguments.input, arguments.repeats,
                                        arguments.only, peak_of_step);
  core::print_result((arguments.json ? result.to_json().dump(2) : result.text()) + "\n",
                     arguments.json);
  return 0;
}

void add_roofline_flags(CLI::App& command, BenchArguments& arguments) {
  auto* roofline = command.add_flag(
      "--roofline", arguments.roofline,
      "FLOPs and bytes of each step, the time that this machine needs for them at best, and the "
      "share of this limit that is reached");
  roofline->excludes(command.get_option("--only"))->excludes(command.get_option("--method"));
  const auto add = [&](const char* name, auto& value, const char* about) {
    return command.add_option(name, value, about)->needs(roofline)->type_name("");
  };
  constexpr double kLeastPeak = 1e-6, kMostPeak = 1e12;
  add("--models", arguments.models,
      "--roofline: several networks, vgg13_bn,resnet18,...; all: every classification network")
      ->excludes(command.get_option("--model"));
  auto* csv = command.add_flag("--csv", arguments.csv,
                               "--roofline: CSV, a line for each network, step and kind");
  auto* markdown =
      command.add_flag("--markdown", arguments.markdown,
                       "--roofline: a Markdown table, a line for each network and step");
  auto* json = command.get_option("--json");
  csv->needs(roofline)->excludes(json, markdown);
  markdown->needs(roofline)->excludes(json);
  add("--plot", arguments.plot, "--roofline: write a picture (SVG)");
  add_number(command, "--peak-gflops", arguments.peak_gflops,
             "--roofline: FLOPs of a matrix product, in 10^9 a second (default: measured)",
             kLeastPeak, kMostPeak)
      ->needs(roofline);
  add_number(command, "--peak-bandwidth", arguments.peak_bandwidth,
             "--roofline: the memory's bandwidth in GB/s (default: measured by a copy)", kLeastPeak,
             kMostPeak)
      ->needs(roofline);
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BenchArguments>();
  auto* command = app.add_subcommand(
      "bench", "Time the steps of training: forward, GP, BP, BP + predictor training");
  arguments->flags.declare(*command, false);
  command
      ->add_option("--input", arguments->input,
                   "Input of the network: cifar (default), imagenet or HxW; for sentences "
                   "tokens:SRC,TGT (default: "
                   "the average of synthetic-translation)")
      ->type_name("");
  add_number(*command, "--repeats", arguments->repeats, "Timed steps of each kind", 1, 1'000'000)
      ->take_last()  // peak_of_step() adds one
      ->capture_default_str();
  command
      ->add_option("--method", arguments->method,
                   "Time a full batch of this method, too: no example dropped, no image shrunk "
                   "(adagp list methods)")
      ->type_name("");
  command
      ->add_option("--only", arguments->only,
                   "One kind of step: forward, gp, bp, bp-train (BP + predictor training) or "
                   "method")
      ->check(CLI::IsMember({"forward", "gp", "bp", "bp-train", "method"}))
      ->type_name("");
  command->add_flag("--json", arguments->json, "Print as JSON");
  add_roofline_flags(*command, *arguments);
  command->callback(
      [arguments, &action] { action = [arguments] { return run_bench(*arguments); }; });
}

}  // namespace adagp::apps
