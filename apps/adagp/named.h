#pragma once
// Tables of names with a sentence each, for `adagp list`.

#include <string>
#include <utility>
#include <vector>

#include "adagp/core/binding.h"

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
// Keys with default and meaning; Markdown is what the documents hold.
void print_keys(const core::Binding& binding, bool json, bool markdown);
// Those of an accelerator file: docs/accelerators.md.
void print_accelerator_keys(bool json, bool markdown);

}  // namespace adagp::apps
