// adagp list: the tables of what the program knows, by name.

#include <functional>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "adagp/config/run_config.h"
#include "adagp/core/lookup.h"
#include "adagp/core/output.h"
#include "adagp/data/sets/registry.h"
#include "adagp/layers/from_model.h"
#include "adagp/layers/zoo_tables.h"
#include "adagp/method/table.h"
#include "adagp/models/model.h"
#include "adagp/nn/layer.h"
#include "adagp/predictor/predictor.h"
#include "adagp/report/table.h"
#include "commands.h"
#include "named.h"

namespace adagp::apps {
namespace {

// The tables that are names and a sentence each. A new kind is one line here.
std::vector<std::pair<std::string, NamedLines>> named_tables() {
  std::vector<std::pair<std::string, NamedLines>> tables = {
      {"data", named_lines(data::registry())},
      {"methods", named_lines(method::method_table())},
      {"predictors", named_lines(predictor::registry())},
      {"schedules",
       {{"auto", "the paper's proportions scaled to the length of the run"},
        {"paper", "10ep bp, 4ep 4:1, 4ep 3:1, 4ep 2:1, then 1:1"},
        {"bp", "backpropagation only"}}},
  };
  for (auto& table : simulator_tables()) tables.push_back(std::move(table));
  return tables;
}

// As published, where there is such a form, in evaluation: without auxiliary heads.
void print_models(bool json) {
  const nn::ShapeOnlyScope shapes;
  auto out = nlohmann::ordered_json::array();
  using report::Align;
  report::Table lines({{"model", Align::kLeft},
                       {"task", Align::kLeft},
                       {"parameters"},
                       {"GMACs"},
                       {"input"},
                       {"forms", Align::kLeft},
                       {"about", Align::kLeft}});
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

// Every configuration key; docs/configuration.md is this table in Markdown.
void print_configuration_keys(bool json, bool markdown) {
  config::RunConfig config;
  core::Binding binding;
  config::bind(binding, config);
  print_keys(binding, json, markdown);
}

int run_list(const std::string& kind, bool json, bool markdown) {
  std::vector<std::pair<std::string, std::function<void()>>> kinds = {
      {"models", [&] { print_models(json); }},
      {"keys", [&] { print_configuration_keys(json, markdown); }},
      {"accelerator-keys", [&] { print_accelerator_keys(json, markdown); }}};
  for (const auto& table : named_tables()) {
    kinds.emplace_back(table.first, [lines = table.second, json] { print_named(lines, json); });
  }
  core::find_named(kinds, kind, "list: unknown kind").second();
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  struct ListArguments {
    std::string kind;
    bool json = false, markdown = false;
  };
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* command = app.add_subcommand("list", "What the program knows, by name");
  command
      ->add_option(
          "kind", arguments->kind,
          "models, data, methods, predictors, schedules, keys, dataflows, designs, accelerators, "
          "accelerator-keys or pipelines")
      ->required();
  command->add_flag("--json", arguments->json, "JSON array");
  command->add_flag("--markdown", arguments->markdown, "Keys: as a Markdown table");
  command->callback([arguments, &action] {
    action = [arguments] {
      return run_list(arguments->kind, arguments->json, arguments->markdown);
    };
  });
}

}  // namespace adagp::apps
