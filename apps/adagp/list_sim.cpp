// adagp list of the program without LibTorch: what is embedded in it.

#include <memory>

#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/zoo/zoo.h"
#include "commands.h"
#include "named.h"

namespace adagp::apps {
namespace {

std::vector<NamedTable> sim_tables() {
  const auto models = [] {
    NamedLines lines;
    for (const auto& name : zoo::models()) {
      lines.emplace_back(name, "inputs " + core::join(zoo::inputs(name), ", "));
    }
    return lines;
  };
  auto tables = simulator_tables();
  tables.emplace(tables.begin(), "models", models);
  return tables;
}

int run_sim_list(const std::string& kind, bool json, bool markdown) {
  auto printers = key_printers(json, markdown);
  for (const auto& table : sim_tables()) {
    printers.emplace_back(table.first,
                          [lines = table.second, json] { print_named(lines(), json); });
  }
  for (const auto& [name, print] : printers) {
    if (name != kind) continue;
    print();
    return 0;
  }
  throw UsageError("list: unknown kind '" + kind + "'" + core::suggestion(kind, list_kinds()) +
                   " (this program was built without LibTorch)");
}

}  // namespace

std::vector<std::string> list_kinds() {
  auto kinds = core::names_of(sim_tables());
  for (const auto& printer : key_printers(false, false)) kinds.push_back(printer.first);
  return kinds;
}

std::vector<std::string> names_of_kind(const std::string& kind) {
  std::vector<std::string> names = key_names(kind);
  for (const auto& [name, lines] : sim_tables()) {
    if (name != kind) continue;
    for (const auto& line : lines()) names.push_back(line.first);
  }
  return names;
}

void add_list(CLI::App& app, Action& action) {
  auto kind = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("list", "What the program knows, by name");
  command->add_option("kind", *kind, core::join(list_kinds(), ", "))->required();
  command->add_flag("--json", *json, "JSON array");
  command->add_flag("--markdown", *markdown, "Keys: as a Markdown table");
  command->callback(
      [=, &action] { action = [=] { return run_sim_list(*kind, *json, *markdown); }; });
}

}  // namespace adagp::apps
