// adagp list: the tables of what the program knows, by name.

#include <cstdio>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/data/dataset.h"
#include "adagp/layers/from_model.h"
#include "adagp/models/model.h"
#include "adagp/nn/layer.h"
#include "adagp/predictor/predictor.h"
#include "adagp/report/table.h"
#include "adagp/train/config.h"
#include "adagp/train/methods.h"
#include "commands.h"

namespace adagp::apps {
namespace {

using NamedLines = std::vector<std::pair<std::string, std::string>>;  // name, about

template <typename Entries>
NamedLines named_lines(const Entries& entries) {
  NamedLines lines;
  for (const auto& entry : entries) lines.emplace_back(entry.name, entry.about);
  return lines;
}

// The tables that are names and a sentence each. A new kind is one line here.
std::vector<std::pair<std::string, NamedLines>> named_tables() {
  return {
      {"data", named_lines(data::registry())},
      {"methods", named_lines(train::method_table())},
      {"predictors", named_lines(predictor::registry())},
      {"schedules",
       {{"auto", "the paper's proportions scaled to the length of the run"},
        {"paper", "10ep bp, 4ep 4:1, 4ep 3:1, 4ep 2:1, then 1:1"},
        {"bp", "backpropagation only"}}},
  };
}

void print_named(const NamedLines& lines, bool json) {
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& [name, about] : lines) out.push_back({{"name", name}, {"about", about}});
    std::puts(out.dump(2).c_str());
    return;
  }
  report::Table table({{"name", report::Align::kLeft}, {"about", report::Align::kLeft}});
  for (const auto& [name, about] : lines) table.add_row({name, about});
  std::fputs(table.console().c_str(), stdout);
}

// Published form where there is one: ImageNet and 1000 classes; else CIFAR and 10.
void print_models(bool json) {
  nn::ShapeOnlyScope shapes;
  auto out = nlohmann::ordered_json::array();
  using report::Align;
  report::Table lines(
      {{"model", Align::kLeft}, {"parameters"}, {"GMACs"}, {"input"}, {"about", Align::kLeft}});
  for (const models::Entry& entry : models::registry()) {
    const bool large = entry.default_form == models::Form::kImagenet;
    const auto net = entry.build({entry.default_form, large ? 1000 : 10, 1});
    const auto table = layers::from_model(*net, entry.name, large ? "imagenet" : "cifar");
    const int64_t parameters = models::parameter_count(*net), macs = layers::total_macs(table);
    const std::string input = large ? "3x224x224" : "3x32x32";
    out.push_back(
        {{"name", entry.name}, {"parameters", parameters}, {"macs", macs}, {"input", input}});
    lines.add_row({entry.name, core::grouped(parameters),
                   core::fixed(static_cast<double>(macs) / 1e9, 3), input, entry.about});
  }
  const std::string text = json ? out.dump(2) + "\n" : lines.console();
  std::fputs(text.c_str(), stdout);
}

// Every configuration key; docs/configuration.md is this table in Markdown.
void print_keys(bool json, bool markdown) {
  train::Config config;
  core::Binding binding;
  train::bind(binding, config);
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& field : binding.fields()) {
      out.push_back({{"name", field.key},
                     {"default", core::Binding::value_text(field)},
                     {"about", field.about}});
    }
    std::puts(out.dump(2).c_str());
    return;
  }
  using report::Align;
  report::Table table(
      {{"key", Align::kLeft}, {"default", Align::kLeft}, {"meaning", Align::kLeft}});
  const auto code = [&](const std::string& text) { return markdown ? "`" + text + "`" : text; };
  for (const auto& field : binding.fields()) {
    table.add_row({code(field.key), code(core::Binding::value_text(field)), field.about});
  }
  std::fputs((markdown ? table.markdown() : table.console()).c_str(), stdout);
}

int run_list(const std::string& kind, bool json, bool markdown) {
  if (kind == "models") {
    print_models(json);
    return 0;
  }
  if (kind == "keys") {
    print_keys(json, markdown);
    return 0;
  }
  std::vector<std::string> kinds{"models", "keys"};
  for (const auto& [name, lines] : named_tables()) {
    if (name == kind) {
      print_named(lines, json);
      return 0;
    }
    kinds.push_back(name);
  }
  throw UsageError("list: unknown kind '" + kind + "'" + core::suggestion(kind, kinds));
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
      ->add_option("kind", arguments->kind, "models, data, methods, predictors, schedules or keys")
      ->required();
  command->add_flag("--json", arguments->json, "JSON array");
  command->add_flag("--markdown", arguments->markdown, "keys: as a Markdown table");
  command->callback([arguments, &action] {
    action = [arguments] {
      return run_list(arguments->kind, arguments->json, arguments->markdown);
    };
  });
}

}  // namespace adagp::apps
