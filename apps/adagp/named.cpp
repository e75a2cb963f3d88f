#include "named.h"

#include <initializer_list>
#include <memory>

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/base/config/schema.h"
#include "adagp/base/core/binding.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/accel/dataflow/dataflow.h"
#include "adagp/sim/accel/design/design.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/pipeline/schedules.h"
#include "adagp/sim/zoo/zoo.h"
#include "commands.h"

namespace adagp::apps {
namespace {

template <typename Entries>
NamedLines pointed_lines(const Entries& entries) {
  NamedLines lines;
  for (const auto* entry : entries) lines.emplace_back(entry->name, entry->about);
  return lines;
}

NamedLines accelerator_lines() {
  NamedLines lines;
  for (const auto& name : zoo::accelerators()) {
    lines.emplace_back(name, zoo::accelerator(name).about);
  }
  return lines;
}

// The fields of a binding live as long as the call.
using BindingUser = std::function<void(const core::Binding&)>;

void use_recipe(const BindingUser& use) {
  config::RunConfig config;
  core::Binding binding;
  config::bind(binding, config);
  use(binding);
}

void use_accelerator(const BindingUser& use) {
  accel::Accelerator defaults;
  defaults.name = "";
  use(accel::bind(defaults));
}

// The own ones, then the simulator's, which need no LibTorch.
std::vector<ListKind> named_kinds() {
  std::vector<ListKind> kinds = own_kinds();
  for (const ListKind& kind : std::initializer_list<ListKind>{
           {"dataflows", [] { return pointed_lines(accel::dataflows()); }},
           {"designs", [] { return pointed_lines(accel::designs()); }},
           {"accelerators", accelerator_lines},
           {"machines", [] { return pointed_lines(arrays::machines()); }},
           {"pipelines", [] { return named_lines(pipeline::schedules()); }}}) {
    kinds.push_back(kind);
  }
  return kinds;
}

void print_named(const NamedLines& lines, bool json) {
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& [name, about] : lines) out.push_back({{"name", name}, {"about", about}});
    core::print_data(out.dump(2) + "\n");
    return;
  }
  report::Table table(report::titled({"<name", "<about"}));
  for (const auto& [name, about] : lines) table.add_row({name, about});
  core::print(table.console());
}

// Keys with default and meaning; Markdown is what the documents hold.
void print_keys(const core::Binding& binding, bool json, bool markdown) {
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& field : binding.fields()) {
      out.push_back({{"name", field.key},
                     {"default", core::Binding::value_text(field)},
                     {"about", field.about}});
    }
    core::print_data(out.dump(2) + "\n");
    return;
  }
  report::Table table({"<key", "<default", "<meaning"});
  const auto code = [&](const std::string& text) { return markdown ? "`" + text + "`" : text; };
  for (const auto& field : binding.fields()) {
    table.add_row({code(field.key), code(core::Binding::value_text(field)), field.about});
  }
  core::print(markdown ? table.markdown() : table.console());
}

// Kinds that are no names: the keys of recipes and of accelerator files (docs/configuration.md and
// docs/accelerators.md), and JSON schemas of both.
std::vector<std::pair<std::string, std::function<void()>>> key_printers(bool json, bool markdown) {
  const auto with_recipe = [](const BindingUser& print) { return [print] { use_recipe(print); }; };
  const auto with_accelerator = [](const BindingUser& print) {
    return [print] { use_accelerator(print); };
  };
  const auto keys = [=](const core::Binding& binding) { print_keys(binding, json, markdown); };
  const auto schema = [](const char* title) {
    return [title](const core::Binding& binding) {
      core::print_data(config::json_schema(binding, title));
    };
  };
  return {{"keys", with_recipe(keys)},
          {"schema", with_recipe(schema("adagp recipe"))},
          {"accelerator-keys", with_accelerator(keys)},
          {"accelerator-schema", with_accelerator(schema("adagp accelerator"))}};
}

int run_list(const std::string& name, bool json, bool markdown) {
  for (const ListKind& kind : named_kinds()) {
    if (kind.name != name) continue;
    kind.print ? kind.print(json) : print_named(kind.lines(), json);
    return 0;
  }
  for (const auto& [kind, print] : key_printers(json, markdown)) {
    if (kind != name) continue;
    print();
    return 0;
  }
  throw UsageError(core::cat("list: unknown kind '", name, "'",
                             core::suggestion(name, list_kinds()), about_missing_kinds()));
}

}  // namespace

std::vector<std::string> list_kinds() {
  auto kinds = core::names_of(named_kinds());
  for (const auto& printer : key_printers(false, false)) kinds.push_back(printer.first);
  return kinds;
}

std::vector<std::string> names_of_kind(const std::string& name) {
  std::vector<std::string> names;
  const auto add = [&](const core::Binding& binding) {
    for (const std::string& key : binding.keys()) names.push_back(key + "=");
  };
  if (name == "keys") use_recipe(add);
  if (name == "accelerator-keys") use_accelerator(add);
  for (const ListKind& kind : named_kinds()) {
    if (kind.name == name) names = core::names_of(kind.lines());
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
  command->callback([=, &action] { action = [=] { return run_list(*kind, *json, *markdown); }; });
}

}  // namespace adagp::apps
