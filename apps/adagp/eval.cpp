// adagp eval: accuracy of a run or of a weights file.

#include <cstdio>
#include <memory>

#include "adagp/core/error.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"
#include "adagp/train/build.h"
#include "adagp/train/evaluate.h"
#include "adagp/train/session.h"
#include "adagp/train/weights.h"
#include "commands.h"
#include "train_flags.h"

namespace adagp::apps {
namespace {

struct EvalArguments {
  TrainFlags flags;
  std::string what, logits, split = "test";
  bool best = false, json = false;
};

// The file to evaluate.
core::fs::path weights_file(const EvalArguments& arguments) {
  const core::fs::path what = arguments.what;
  if (!core::fs::exists(what)) throw DataError(what.string() + ": no such run folder or file");
  if (!core::fs::is_directory(what)) return what;
  const auto file = what / (arguments.best ? "best.safetensors" : "weights.safetensors");
  if (!core::fs::exists(file)) throw DataError(file.string() + ": not there: is the run finished?");
  return file;
}

// What the command line leaves open is as in training, or as the weights file says.
train::Config starting_point(const EvalArguments& arguments, const core::fs::path& file,
                             const train::ModelTag& tag) {
  train::Config config;
  if (file != arguments.what) {
    config = train::read_config(arguments.what);
    config.device = "auto";  // it need not be the machine of the training
  }
  config.model = {tag.name, tag.form.empty() ? "auto" : tag.form, tag.classes, tag.width_divisor};
  return config;
}

int run_eval(const EvalArguments& arguments) {
  const auto file = weights_file(arguments);
  const io::TensorFile weights = io::load_tensors(file);
  train::Config config = arguments.flags.resolve(
      starting_point(arguments, file, train::from_metadata(weights.metadata)));
  if (config.model.name.empty()) {
    throw UsageError(file.string() + ": does not name its network; add --model");
  }

  if (config.precision == "bf16" && !train::choose_device(config.device).is_cuda()) {
    core::log_warning("no GPU here: evaluated in fp32");
    config.precision = "fp32";
  }
  train::set_threads(config);
  const data::Splits splits = data::open(config.data);
  train::resolve(config, splits);
  config.weights.clear();
  auto net = train::build_net(config);
  train::load_state_dict(*net, weights.tensors, file.string());
  train::Session session = train::make_session(config, net);
  data::Loader loader(arguments.split == "train" ? splits.train : splits.test,
                      train::loader_options(config, splits, false, session.device));
  const auto found = train::evaluate(session, loader, nullptr, !arguments.logits.empty());
  if (!arguments.logits.empty()) io::save_tensors(arguments.logits, {{"logits", found.logits}});
  if (arguments.json) {
    const nlohmann::json json{{"model", config.model.name}, {"data", config.data.name},
                              {"images", found.images},     {"top1", found.top1},
                              {"top5", found.top5},         {"loss", found.loss}};
    std::puts(json.dump(2).c_str());
  } else {
    std::puts(core::cat(config.model.name, " on ", config.data.name, " (", found.images,
                        " images): top1 ", core::fixed(found.top1, 2), " %, top5 ",
                        core::fixed(found.top5, 2), " %, loss ", core::fixed(found.loss, 4))
                  .c_str());
  }
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<EvalArguments>();
  auto* command = app.add_subcommand("eval", "Accuracy of a run or of a weights file");
  command->add_option("what", arguments->what, "Run folder or safetensors file")
      ->required()
      ->type_name("RUN|FILE");
  arguments->flags.declare(*command, false);
  command->add_option("--split", arguments->split, "test or train")
      ->check(CLI::IsMember({"test", "train"}));
  command->add_option("--logits", arguments->logits, "Write the logits in the data's order")
      ->type_name("FILE");
  command->add_flag("--best", arguments->best, "A run's best weights instead of its last");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_eval(*arguments); }; });
}

}  // namespace adagp::apps
