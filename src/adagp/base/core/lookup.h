#pragma once
// Looking a name up in a table.

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::core {

// An entry is a name, has one (itself or behind a pointer), or is a pair that begins with one.
template <typename Entry>
std::string_view name_of(const Entry& entry) {
  if constexpr (std::is_convertible_v<const Entry&, std::string_view>) {
    return entry;
  } else if constexpr (std::is_pointer_v<Entry>) {
    return entry->name;
  } else if constexpr (requires { entry.name; }) {
    return entry.name;
  } else {
    return entry.first;
  }
}

template <typename Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(name_of(entry));
  return names;
}

// The entry of that name. Otherwise throws, with the nearest name or all of them:
// "unknown model 'vg13'; did you mean 'vgg13'?", where `what` is "unknown model" and `after` what
// follows the name ("design 'lo' is unknown; ...").
template <typename Problem = UsageError, typename Entries>
const auto& find_named(const Entries& entries, std::string_view name, std::string_view what,
                       std::string_view after = "") {
  for (const auto& entry : entries) {
    if (name_of(entry) == name) return entry;
  }
  throw Problem(cat(what, " '", name, "'", after, suggestion(name, names_of(entries))));
}

// Adds an entry to a table whose names are unique; `what` is what an entry is ("method").
template <typename Entries, typename Entry>
void add_named(Entries& entries, Entry entry, std::string_view what) {
  for (const auto& other : entries) {
    if (name_of(other) == name_of(entry))
      throw Error(cat("two entries for ", what, " '", name_of(entry), "'"));
  }
  entries.push_back(std::move(entry));
}

}  // namespace adagp::core
