#pragma once
// adagp list: the tables of what the program knows, by name.

#include <functional>
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

// What `list KIND` takes. Lines are made when they are asked for: every start of the program names
// the kinds.
struct ListKind {
  std::string name;
  std::function<NamedLines()> lines;
  std::function<void(bool json)> print = nullptr;  // null: the lines
};
// Of the program with LibTorch (list.cpp), of the one without it (list_sim.cpp).
std::vector<ListKind> own_kinds();
std::string about_missing_kinds();

std::vector<std::string> list_kinds();
// The names of a kind, of keys as "name="; empty for schemas and unknown kinds.
std::vector<std::string> names_of_kind(const std::string& kind);

}  // namespace adagp::apps
