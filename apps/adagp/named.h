#pragma once
// Tables of names with a sentence each, for `adagp list`.

#include <string>
#include <utility>
#include <vector>

namespace adagp::apps {

using NamedLines = std::vector<std::pair<std::string, std::string>>;  // name, about

template <typename Entries>
NamedLines named_lines(const Entries& entries) {
  NamedLines lines;
  for (const auto& entry : entries) lines.emplace_back(entry.name, entry.about);
  return lines;
}

// The simulator's kinds, which need no LibTorch: accelerators, dataflows, designs, pipelines.
std::vector<std::pair<std::string, NamedLines>> simulator_tables();

void print_named(const NamedLines& lines, bool json);

}  // namespace adagp::apps
