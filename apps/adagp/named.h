#pragma once
// Tables of names with a sentence each, for `adagp list`.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "adagp/base/core/binding.h"

namespace adagp::apps {

using NamedLines = std::vector<std::pair<std::string, std::string>>;  // name, about

template <typename Entries>
NamedLines named_lines(const Entries& entries) {
  NamedLines lines;
  for (const auto& entry : entries) lines.emplace_back(entry.name, entry.about);
  return lines;
}

// A kind and its lines, which are made when they are asked for: every start of the program names
// the kinds.
using NamedTable = std::pair<std::string, std::function<NamedLines()>>;
// The simulator's kinds, which need no LibTorch: accelerators, dataflows, designs, pipelines.
std::vector<NamedTable> simulator_tables();

// What `list KIND` takes.
std::vector<std::string> list_kinds();
// The names of a kind, of keys as "name="; empty for schemas and unknown kinds.
std::vector<std::string> names_of_kind(const std::string& kind);

void print_named(const NamedLines& lines, bool json);
// Keys with default and meaning; Markdown is what the documents hold.
void print_keys(const core::Binding& binding, bool json, bool markdown);
// Kinds that are no names: the keys of recipes and of accelerator files (docs/configuration.md and
// docs/accelerators.md), and JSON schemas of both.
std::vector<std::pair<std::string, std::function<void()>>> key_printers(bool json, bool markdown);
std::vector<std::string> key_names(const std::string& kind);  // "optim.lr=", ...

}  // namespace adagp::apps
