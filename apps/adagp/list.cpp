// adagp list: the tables of what the program knows, by name.

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "adagp/base/core/lookup.h"
#include "adagp/base/core/output.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/layers/zoo_tables.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/predictor/predictor.h"
#include "adagp/results/report/table.h"
#include "commands.h"
#include "named.h"

namespace adagp::apps {
namespace {

// The tables that are names and a sentence each. A new kind is one line here.
std::vector<NamedTable> named_tables() {
  std::vector<NamedTable> tables = {
      {"data", [] { return named_lines(data::registry()); }},
      {"predictors", [] { return named_lines(predictor::registry()); }},
      {"schedules",
       [] {
         return NamedLines{{"auto", "the paper's proportions scaled to the length of the run"},
                           {"paper", "10ep bp, 4ep 4:1, 4ep 3:1, 4ep 2:1, then 1:1"},
                           {"bp", "backpropagation only"}};
       }},
  };
  for (auto& table : simulator_tables()) tables.push_back(std::move(table));
  return tables;
}

void print_methods(bool json) {
  auto out = nlohmann::ordered_json::array();
  report::Table lines(report::titled({"<method", "<standing", "<about"}));
  for (const method::MethodEntry& entry : method::method_table()) {
    const std::string standing = name_of(entry.standing);
    out.push_back({{"name", entry.name}, {"standing", standing}, {"about", entry.about}});
    lines.add_row({entry.name, standing, entry.about});
  }
  core::print_result(json ? out.dump(2) + "\n" : lines.console(), json);
}

// As published, where there is such a form, in evaluation: without auxiliary heads.
void print_models(bool json) {
  const nn::ShapeOnlyScope shapes;
  auto out = nlohmann::ordered_json::array();
  report::Table lines(
      report::titled({"<model", "<task", "parameters", "GMACs", "input", "<forms", "<about"}));
  for (const models::Entry& entry : models::registry()) {
    const layers::Usual how = layers::usual(entry);
    const auto net = models::build(entry.name, how.options);
    net->eval();
    const int64_t macs = layers::total_macs(layers::from_model(*net, entry.name, how.input));
    const int64_t parameters = models::parameter_count(*net);
    const auto size = layers::parse_input(how.input, entry.image_size);
    const std::string input =
        size.tokens() ? how.input : core::cat(size.channels, "x", size.height, "x", size.width);
    std::vector<std::string> forms;
    if (entry.task == models::TaskKind::kClassification) {
      if (entry.default_form == models::Form::kImagenet) forms.emplace_back("imagenet");
      forms.emplace_back("cifar");
    }
    out.push_back({{"name", entry.name},
                   {"task", models::task_name(entry.task)},
                   {"parameters", parameters},
                   {"macs", macs},
                   {"input", input},
                   {"forms", forms},
                   {"about", entry.about}});
    lines.add_row({entry.name, models::task_name(entry.task), core::grouped(parameters),
                   core::fixed(static_cast<double>(macs) / 1e9, 3), input, core::join(forms, ", "),
                   entry.about});
  }
  const std::string text = json ? out.dump(2) + "\n" : lines.console();
  core::print_result(text, json);
}

int run_list(const std::string& kind, bool json, bool markdown) {
  auto kinds = key_printers(json, markdown);
  kinds.emplace_back("models", [&] { print_models(json); });
  kinds.emplace_back("methods", [&] { print_methods(json); });
  for (const auto& table : named_tables()) {
    kinds.emplace_back(table.first, [lines = table.second, json] { print_named(lines(), json); });
  }
  core::find_named(kinds, kind, "list: unknown kind").second();
  return 0;
}

}  // namespace

std::vector<std::string> list_kinds() {
  std::vector<std::string> kinds{"models", "methods"};
  for (const auto& table : named_tables()) kinds.push_back(table.first);
  for (const auto& printer : key_printers(false, false)) kinds.push_back(printer.first);
  return kinds;
}

std::vector<std::string> names_of_kind(const std::string& kind) {
  if (kind == "models") return core::names_of(models::registry());
  if (kind == "methods") return core::names_of(method::method_table());
  std::vector<std::string> names = key_names(kind);
  for (const auto& table : named_tables()) {
    if (table.first != kind) continue;
    for (const auto& line : table.second()) names.push_back(line.first);
  }
  return names;
}

void add_list(CLI::App& app, Action& action) {
  struct ListArguments {
    std::string kind;
    bool json = false, markdown = false;
  };
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* command = app.add_subcommand("list", "What the program knows, by name");
  command->add_option("kind", arguments->kind, core::join(list_kinds(), ", "))->required();
  command->add_flag("--json", arguments->json, "JSON array");
  command->add_flag("--markdown", arguments->markdown, "Keys: as a Markdown table");
  command->callback([arguments, &action] {
    action = [arguments] {
      return run_list(arguments->kind, arguments->json, arguments->markdown);
    };
  });
}

}  // namespace adagp::apps
