#include "named.h"

#include <nlohmann/json.hpp>

#include "adagp/accel/dataflow/dataflow.h"
#include "adagp/accel/design/design.h"
#include "adagp/core/output.h"
#include "adagp/pipeline/schedules.h"
#include "adagp/report/table.h"
#include "adagp/zoo/zoo.h"

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

}  // namespace

std::vector<std::pair<std::string, NamedLines>> simulator_tables() {
  return {{"dataflows", pointed_lines(accel::dataflows())},
          {"designs", pointed_lines(accel::designs())},
          {"accelerators", accelerator_lines()},
          {"pipelines", pipeline_lines()}};
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
  report::Table table(
      {{"key", Align::kLeft}, {"default", Align::kLeft}, {"meaning", Align::kLeft}});
  const auto code = [&](const std::string& text) { return markdown ? "`" + text + "`" : text; };
  for (const auto& field : binding.fields()) {
    table.add_row({code(field.key), code(core::Binding::value_text(field)), field.about});
  }
  core::print(markdown ? table.markdown() : table.console());
}

void print_accelerator_keys(bool json, bool markdown) {
  accel::Accelerator defaults;
  defaults.name = "";
  print_keys(accel::bind(defaults), json, markdown);
}

}  // namespace adagp::apps
