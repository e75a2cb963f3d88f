#include "train_flags.h"

#include "adagp/core/error.h"
#include "adagp/core/files.h"

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
  flag(command, "--device", "device", "auto, cpu, cuda, cuda:N");
  flag(command, "--threads", "threads", "CPU threads; 0 = all");
  flag(command, "--precision", "precision", "fp32, or bf16 on a GPU");
  flag(command, "--seed", "seed", "Of everything random");
  flag(command, "--schedule", "schedule", "auto, paper, bp or \"10ep bp, 4ep 4:1, 1:1\"");
  flag(command, "--weights", "weights", "Start from this safetensors file");
  command.add_flag("--deterministic", deterministic_, "Equal bits on a GPU too, slower");
  command.add_option("--set", sets_, "Any key of docs/configuration.md, as key=value; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

train::Config TrainFlags::resolve(train::Config config) const {
  core::Binding binding;
  train::bind(binding, config);
  if (!recipe_.empty()) {
    std::string text;
    try {
      text = core::read_file(recipe_);
    } catch (const Error& error) {
      throw UsageError(std::string("recipe: ") + error.what());
    }
    binding.load_toml(text, recipe_);
  }
  binding.load_environment();
  for (const auto& assignment : sets_) binding.set(assignment);
  for (const auto& [key, given] : flags_) binding.set(key, given.second, given.first);
  if (deterministic_) config.deterministic = true;
  return config;
}

}  // namespace adagp::apps
