// adagp export: the weights of a run as one safetensors file with PyTorch's names.

#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/io/tensors.h"
#include "commands.h"

namespace adagp::apps {
namespace {

struct ExportArguments {
  std::string run, output;
  bool best = false, json = false;
};

int run_export(const ExportArguments& arguments) {
  const auto from =
      core::fs::path(arguments.run) / (arguments.best ? "best.safetensors" : "weights.safetensors");
  if (!core::fs::exists(from)) {
    throw DataError(from.string() + ": not there: is " + arguments.run + " the folder of a " +
                    (arguments.best ? "run that has been evaluated?" : "finished run?"));
  }
  core::require_regular_file(from);
  const io::TensorFile file = io::load_tensors(from);
  io::save_tensors(core::behind_links(arguments.output), file.tensors, file.metadata);
  int64_t numbers = 0;
  for (const auto& [name, tensor] : file.tensors) numbers += tensor.numel();
  if (arguments.json) {
    const nlohmann::json json{
        {"file", arguments.output}, {"tensors", file.tensors.size()}, {"numbers", numbers}};
    core::print_data(json.dump(2) + "\n");
  } else {
    core::print(core::cat(arguments.output, ": ", file.tensors.size(), " tensors, ",
                          core::grouped(numbers), " numbers\n"));
  }
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ExportArguments>();
  auto* command = app.add_subcommand("export", "Write a run's weights for use elsewhere");
  command->add_option("run", arguments->run, "Run folder")->required()->type_name("RUN");
  command->add_option("-o,--output", arguments->output, "File to write")
      ->required()
      ->type_name("FILE");
  command->add_flag("--best", arguments->best,
                    "Weights of the best evaluation instead of the last");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_export(*arguments); }; });
}

}  // namespace adagp::apps
