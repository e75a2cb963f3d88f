// adagp bench: step times per phase against the limit.

#include <memory>

#include "adagp/core/output.h"
#include "adagp/experiment/bench.h"
#include "commands.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

struct BenchArguments {
  TrainFlags flags;
  std::string input, only;
  int repeats = 20;
  bool json = false;
};

int run_bench(const BenchArguments& arguments) {
  const auto result = experiment::bench(arguments.flags.resolve(), arguments.input,
                                        arguments.repeats, arguments.only);
  core::print_result((arguments.json ? result.to_json().dump(2) : result.text()) + "\n",
                     arguments.json);
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<BenchArguments>();
  auto* command = app.add_subcommand("bench", "Time the steps of each phase");
  arguments->flags.declare(*command, false);
  command
      ->add_option("--input", arguments->input,
                   "cifar (default), imagenet or HxW; for sentences tokens:SRC,TGT (default: "
                   "the average of synthetic-translation)")
      ->type_name("");
  command->add_option("--repeats", arguments->repeats, "Timed steps of each kind")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("")
      ->capture_default_str();
  command->add_option("--only", arguments->only, "One kind of step: forward, gp, bp or bp-train")
      ->check(CLI::IsMember({"forward", "gp", "bp", "bp-train"}))
      ->type_name("");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_bench(*arguments); }; });
}

}  // namespace adagp::apps
