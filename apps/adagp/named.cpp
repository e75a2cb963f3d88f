#include "named.h"

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/base/config/schema.h"
#include "adagp/base/core/output.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/accel/dataflow/dataflow.h"
#include "adagp/sim/accel/design/design.h"
#include "adagp/sim/arrays/machine.h"
#include "adagp/sim/pipeline/schedules.h"
#include "adagp/sim/zoo/zoo.h"

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

NamedLines pipeline_lines() {
  NamedLines lines;
  for (const auto& schedule : pipeline::schedules()) {
    lines.emplace_back(schedule.name, schedule.about);
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

}  // namespace

std::vector<NamedTable> simulator_tables() {
  return {{"dataflows", [] { return pointed_lines(accel::dataflows()); }},
          {"designs", [] { return pointed_lines(accel::designs()); }},
          {"accelerators", accelerator_lines},
          {"machines", [] { return pointed_lines(arrays::machines()); }},
          {"pipelines", pipeline_lines}};
}

void print_named(const NamedLines& lines, bool json) {
  if (json) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& [name, about] : lines) out.push_back({{"name", name}, {"about", about}});
    core::print_data(out.dump(2) + "\n");
    return;
  }
  report::Table table({{"name", report::Align::kLeft}, {"about", report::Align::kLeft}});
  for (const auto& [name, about] : lines) table.add_row({name, about});
  core::print(table.console());
}

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
  using report::Align;
  report::Table table(report::titled({"<key", "<default", "<meaning"}));
  const auto code = [&](const std::string& text) { return markdown ? "`" + text + "`" : text; };
  for (const auto& field : binding.fields()) {
    table.add_row({code(field.key), code(core::Binding::value_text(field)), field.about});
  }
  core::print(markdown ? table.markdown() : table.console());
}

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

std::vector<std::string> key_names(const std::string& kind) {
  std::vector<std::string> names;
  const auto add = [&](const core::Binding& binding) {
    for (const std::string& key : binding.keys()) names.push_back(key + "=");
  };
  if (kind == "keys") use_recipe(add);
  if (kind == "accelerator-keys") use_accelerator(add);
  return names;
}

}  // namespace adagp::apps
