#include "prompt_words.h"

#include <map>

#include "commands.h"
#include "named.h"

namespace adagp::apps {
namespace {

// Flags and arguments whose values `adagp list` knows: the kind of list, by the flag's name and
// where needed by its command.
std::string kind_of(const std::string& path, const std::string& flag) {
  static const std::map<std::string, std::string> kinds = {{"simulate --set", "accelerator-keys"},
                                                           {"paper --set", "accelerator-keys"},
                                                           {"--set", "keys"},
                                                           {"pipeline --schedule", "pipelines"},
                                                           {"--schedule", "schedules"},
                                                           {"--training", "schedules"},
                                                           {"--model", "models"},
                                                           {"bench --models", "models"},
                                                           {"--data", "data"},
                                                           {"--method", "methods"},
                                                           {"--methods", "methods"},
                                                           {"--accelerator", "accelerators"},
                                                           {"--dataflow", "dataflows"},
                                                           {"--machine", "machines"},
                                                           {"--design", "designs"},
                                                           {"--designs", "designs"}};
  for (const std::string& key : {path + " " + flag, flag}) {
    if (const auto found = kinds.find(key); found != kinds.end()) return found->second;
  }
  return "";
}

std::vector<std::string> values_of(const std::string& path, const std::string& name) {
  if (path == "list" && name == "kind") return list_kinds();
  if (path == "completion" && name == "shell") return completion_kinds();
  return names_of_kind(kind_of(path, name));
}

PromptFlag flag_of(const std::string& path, const CLI::Option& option) {
  PromptFlag flag;
  flag.positional = option.get_positional();
  flag.required = option.get_required();
  for (const auto& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (flag.positional) flag.names = {option.get_name(true)};
  flag.about = option.get_description();
  flag.usual = option.get_default_str();
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) flag.value = option.get_type_name().empty() ? "TEXT" : option.get_type_name();
  if (takes_value) flag.values = values_of(path, flag.names.back());
  return flag;
}

// Groups of options are commands without a name.
void add_flags(const CLI::App& app, PromptCommand& command) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) command.flags.push_back(flag_of(command.path, *option));
  }
  for (const CLI::App* below : app.get_subcommands({})) {
    if (below->get_name().empty()) add_flags(*below, command);
  }
}

void walk_commands(const CLI::App& app, const std::string& path, std::vector<PromptCommand>& out) {
  PromptCommand command;
  command.path = path;
  command.about = app.get_description();
  command.footer = app.get_footer();
  add_flags(app, command);
  std::vector<const CLI::App*> below;
  for (const CLI::App* one : app.get_subcommands({})) {
    if (one->get_name().empty() || one->get_group().empty()) continue;
    command.commands.push_back(one->get_name());
    below.push_back(one);
  }
  out.push_back(std::move(command));
  for (const CLI::App* one : below) {
    walk_commands(*one, (path.empty() ? "" : path + " ") + one->get_name(), out);
  }
}

}  // namespace

std::vector<PromptCommand> prompt_commands(const CLI::App& app) {
  std::vector<PromptCommand> out;
  walk_commands(app, "", out);
  return out;
}

}  // namespace adagp::apps
