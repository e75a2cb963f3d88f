#include "train_flags.h"

#include <cstdlib>

#include "adagp/base/core/environment.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/task/weights_settings.h"

namespace adagp::apps {

void TrainFlags::flag(CLI::App& command, const std::string& names, const std::string& key,
                      const std::string& about) {
  command
      .add_option_function<std::string>(
          names,
          [this, key, names](const std::string& text) {
            flags_[key] = {names, text};
          },
          about)
      ->type_name("");
}

void TrainFlags::declare(CLI::App& command, bool with_recipe) {
  if (with_recipe) {
    command.add_option("recipe", recipe_, "TOML file of keys (configs/recipes)")->type_name("FILE");
  }
  flag(command, "--model", "model.name", "Network (adagp list models)");
  flag(command, "--data", "data.name", "Data set (adagp list data)");
  flag(command, "--data-dir", "data.dir", "Folder or file of the data set");
  flag(command, "--epochs", "epochs", "Passes over the training data");
  flag(command, "--batch", "batch", "Images per batch");
  flag(command, "--device", "device", "Device: auto, cpu, cuda or cuda:N");
  flag(command, "--threads", "threads", "CPU threads; 0 = all");
  flag(command, "--precision", "precision", "Number format: fp32, or on a GPU bf16");
  flag(command, "--seed", "seed", "Seed of everything random");
  flag(command, "--schedule", "schedule",
       "BP and GP batches: auto, paper, bp or \"10ep bp, 4ep 4:1, 1:1\"");
  flag(command, "--weights", "weights", "Start from this safetensors file");
  for (const char* name : {"--epochs", "--batch", "--threads", "--seed"}) {
    command.get_option(name)->type_name("NUMBER");
  }
  command.add_flag("--deterministic", deterministic_, "Equal bits also on a GPU; slower");
  command.add_option("--set", sets_, "Any key of docs/configuration.md, as key=value; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void TrainFlags::fill(config::RunConfig& config, Environment environment) const {
  core::Binding binding;
  config::bind(binding, config);
  if (!recipe_.empty()) {
    try {
      if (!recipe_text_) recipe_text_ = core::read_file(recipe_);
    } catch (const DataError& error) {
      throw UsageError(std::string("recipe: ") + error.what());
    }
    binding.load_toml(*recipe_text_, recipe_);
  }
  if (environment == Environment::kWhole) {
    binding.load_environment();
  } else {
    for (const std::string key : {"weights", "model.name"}) {
      const std::string variable = core::environment_name(key);
      if (const char* value = std::getenv(variable.c_str())) binding.set(key, value, variable);
    }
  }
  for (const auto& assignment : sets_) binding.set(assignment);
  for (const auto& [key, given] : flags_) binding.set(key, given.second, given.first);
  if (deterministic_) config.deterministic = true;
}

config::RunConfig TrainFlags::resolve(config::RunConfig config) const {
  fill(config, Environment::kWhole);
  return config;
}

config::RunConfig TrainFlags::resolve_run() const {
  config::RunConfig said;
  said.model.name.clear();
  fill(said, Environment::kNetwork);
  if (said.weights.empty()) return resolve();
  const auto metadata = task::metadata_of(said.weights);
  const run::ModelTag tag = run::from_metadata(metadata);
  // Of another network than the one that was asked for it says nothing of use.
  if (tag.name.empty() || (!said.model.name.empty() && said.model.name != tag.name)) {
    return resolve();
  }
  config::RunConfig start;
  start.model.name = tag.name;
  if (!tag.form.empty()) start.model.form = tag.form;
  start.model.width_divisor = tag.width_divisor;
  start.model.duplex = tag.duplex;
  run::read_metadata(metadata, start.model.transformer);
  return resolve(start);
}

void TrainFlags::refuse_unnamed() const {
  if (!recipe_.empty()) return;
  for (const train::GivenKey& one : given()) {
    for (const char* key : {"model.name", "data.name", "data.dir", "weights"}) {
      if (one.key == key) return;
    }
  }
  throw UsageError(
      "nothing says what to train: give a recipe, as configs/recipes/demo.toml, or a network and "
      "data, as --model vgg8s --data synthetic");
}

std::vector<train::GivenKey> TrainFlags::given() const {
  std::vector<train::GivenKey> out;
  for (const auto& [key, flag] : flags_) out.push_back({key, flag.first});
  for (const auto& assignment : sets_) {
    const std::string key = core::trim(assignment.substr(0, assignment.find('=')));
    out.push_back({key, "--set " + key});
  }
  config::RunConfig unused;
  core::Binding binding;
  config::bind(binding, unused);
  for (const auto& key : binding.keys()) {
    const std::string variable = core::environment_name(key);
    if (std::getenv(variable.c_str()) != nullptr) out.push_back({key, variable});
  }
  return out;
}

void warn_unused(const std::vector<train::GivenKey>& given,
                 const std::vector<config::RunConfig>& runs, train::WhyUnused why) {
  const std::string sentence = train::unused_keys(given, runs, why);
  if (!sentence.empty()) core::log_warning(sentence);
}

}  // namespace adagp::apps
