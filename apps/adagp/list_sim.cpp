// adagp list of the program without LibTorch: what is embedded in it.

#include <memory>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/zoo/zoo.h"
#include "commands.h"
#include "named.h"

namespace adagp::apps {
namespace {

int run_sim_list(const std::string& kind, bool json, bool markdown) {
  if (kind == "accelerator-keys") {
    print_accelerator_keys(json, markdown);
    return 0;
  }
  auto tables = simulator_tables();
  NamedLines models;
  for (const auto& name : zoo::models()) {
    models.emplace_back(name, "inputs " + core::join(zoo::inputs(name), ", "));
  }
  tables.emplace_back("models", models);
  std::vector<std::string> kinds{"accelerator-keys"};
  for (const auto& [name, lines] : tables) {
    if (name == kind) {
      print_named(lines, json);
      return 0;
    }
    kinds.push_back(name);
  }
  throw UsageError("list: unknown kind '" + kind + "'" + core::suggestion(kind, kinds) +
                   " (this program was built without LibTorch)");
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto kind = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("list", "What the program knows, by name");
  command
      ->add_option("kind", *kind,
                   "models, dataflows, designs, accelerators, accelerator-keys or pipelines")
      ->required();
  command->add_flag("--json", *json, "JSON array");
  command->add_flag("--markdown", *markdown, "Keys: as a Markdown table");
  command->callback(
      [=, &action] { action = [=] { return run_sim_list(*kind, *json, *markdown); }; });
}

}  // namespace adagp::apps
