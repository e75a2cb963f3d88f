#include "named.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "adagp/accel/dataflow/dataflow.h"
#include "adagp/accel/design/design.h"
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
    std::puts(out.dump(2).c_str());
    return;
  }
  report::Table table({{"name", report::Align::kLeft}, {"about", report::Align::kLeft}});
  for (const auto& [name, about] : lines) table.add_row({name, about});
  std::fputs(table.console().c_str(), stdout);
}

}  // namespace adagp::apps
