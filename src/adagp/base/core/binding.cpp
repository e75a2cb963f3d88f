#include "adagp/base/core/binding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <sstream>
#include <type_traits>

#include <toml++/toml.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/toml_keys.h"

namespace adagp::core {
namespace {

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(bytes_to_utf8(text));
  return out.str();
}

std::string number_text(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return "nan";
  const std::string text = shortest(value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

template <typename T, typename Write>
std::string list_text(const std::vector<T>& values, Write write) {
  std::vector<std::string> parts;
  for (const auto& value : values) parts.push_back(write(value));
  return "[" + join(parts, ", ") + "]";
}

struct ValueText {
  std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(const int64_t* v) const { return std::to_string(*v); }
  std::string operator()(const double* v) const { return number_text(*v); }
  std::string operator()(const std::string* v) const { return quoted(*v); }
  std::string operator()(const std::vector<double>* v) const { return list_text(*v, number_text); }
  std::string operator()(const std::vector<int64_t>* v) const {
    return list_text(*v, [](int64_t n) { return std::to_string(n); });
  }
  std::string operator()(const std::vector<std::string>* v) const { return list_text(*v, quoted); }
};

struct TypeName {
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const int64_t*) const { return "a whole number"; }
  std::string operator()(const double*) const { return "a number"; }
  std::string operator()(const std::string*) const { return "a string"; }
  std::string operator()(const std::vector<double>*) const {
    return "a number or a list of numbers";
  }
  std::string operator()(const std::vector<int64_t>*) const {
    return "a whole number or a list of them";
  }
  std::string operator()(const std::vector<std::string>*) const { return "a list of strings"; }
};

std::optional<double> as_number(const toml::node& node) {
  if (node.is_floating_point() || node.is_integer()) return node.value<double>();
  return {};
}

// Copies a TOML node into a target; false when the type does not fit.
struct Assign {
  const toml::node& node;

  bool operator()(bool* out) const { return take(node.is_boolean(), node.value<bool>(), *out); }
  bool operator()(int64_t* out) const {
    return take(node.is_integer(), node.value<int64_t>(), *out);
  }
  bool operator()(double* out) const {
    const auto value = as_number(node);
    return take(value.has_value(), value, *out);
  }
  bool operator()(std::string* out) const {
    if (!take(node.is_string(), node.value<std::string>(), *out)) return false;
    *out = utf8_to_bytes(*out);
    return true;
  }
  template <typename T>
  bool operator()(std::vector<T>* out) const {
    std::vector<T> values;
    T value{};
    if (const auto* list = node.as_array()) {
      for (const auto& item : *list) {
        if (!Assign{item}(&value)) return false;
        values.push_back(value);
      }
    } else {
      if (!(*this)(&value)) return false;
      values.push_back(value);
    }
    *out = std::move(values);
    return true;
  }

 private:
  template <typename T>
  static bool take(bool fits, const std::optional<T>& value, T& out) {
    if (fits && value) out = *value;
    return fits && value.has_value();
  }
};

// In one line; toml++ breaks arrays.
std::string node_text(const toml::node& node) {
  if (const auto* list = node.as_array()) {
    std::vector<std::string> parts;
    for (const auto& item : *list) parts.push_back(node_text(item));
    return "[" + join(parts, ", ") + "]";
  }
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

// What a number that is not within [least, most] should have been.
std::string range_text(const Binding::Field& field, double least, double most, double value) {
  const bool no_most = std::isinf(field.high) || field.high == 0x1p63;  // as of a seed
  const bool no_least = std::isinf(field.low);
  if (std::isnan(value)) return "a number";
  if (std::isinf(value) && (no_most || no_least)) return "a finite number";
  if (value < least && no_most) return "at least " + shortest(least);
  if (value > most && no_least) return "at most " + shortest(most);
  return shortest(least) + " to " + shortest(most);
}

struct CheckNumbers {
  const Binding::Field& field;
  const std::string& where;

  void operator()(const int64_t* v) const { check(*v, std::numeric_limits<int32_t>::max()); }
  void operator()(const double* v) const { check(*v, std::numeric_limits<double>::max()); }
  template <typename T>
  void operator()(const std::vector<T>* v) const {
    if constexpr (!std::is_same_v<T, std::string>) {
      for (const T& value : *v) (*this)(&value);
    }
  }
  void operator()(const bool*) const {}
  void operator()(const std::string*) const {}

 private:
  // `largest`: of the type, where the field has no limit of its own.
  template <typename T>
  void check(T given, double largest) const {
    const auto value = static_cast<double>(given);
    const double most = std::isinf(field.high) ? largest : field.high;
    const double least = std::isinf(field.low) ? -largest : field.low;
    if (value >= least && value <= most) return;
    throw UsageError(cat(where, ": ", field.key, " = ", shown(given), ": expected ",
                         range_text(field, least, most, value)));
  }
  static std::string shown(int64_t value) { return std::to_string(value); }
  static std::string shown(double value) { return shortest(value); }
};

void check_limits(const Binding::Field& field, const std::string& where) {
  std::visit(CheckNumbers{field, where}, field.target);
  if (const auto* v = std::get_if<std::string*>(&field.target); v && !field.choices.empty()) {
    for (const auto& choice : field.choices) {
      if (choice == **v) return;
    }
    throw UsageError(cat(where, ": ", field.key, " = '", **v, "'",
                         closest(**v, field.choices).empty() ? "" : suggestion(**v, field.choices),
                         " (one of: ", join(field.choices, ", "), ")"));
  }
}

void assign(const Binding::Field& field, const toml::node& node, const std::string& where) {
  if (!std::visit(Assign{node}, field.target)) {
    throw UsageError(cat(where, ": ", field.key, " = ", node_text(node), ": expected ",
                         Binding::type_name(field)));
  }
  check_limits(field, where);
}

}  // namespace

Binding::Field& Binding::Field::one_of(std::vector<std::string> names) {
  choices = std::move(names);
  return *this;
}
Binding::Field& Binding::Field::at_least(double limit) {
  low = limit;
  return *this;
}
Binding::Field& Binding::Field::between(double least, double most) {
  low = least;
  high = most;
  return *this;
}

Binding::Field& Binding::bind(std::string key, Target target, std::string about) {
  Field field;
  field.key = std::move(key);
  field.target = target;
  field.about = std::move(about);
  fields_.push_back(std::move(field));
  return fields_.back();
}

std::vector<std::string> Binding::keys() const {
  std::vector<std::string> names;
  for (const auto& field : fields_) names.push_back(field.key);
  return names;
}

void Binding::when(const std::string& names, const std::string& by, const std::string& values) {
  for (const std::string& name : split(names, ' ')) {
    bool found = false;
    for (Field& field : fields_) {
      if (field.key != name && !(name.ends_with('.') && field.key.starts_with(name))) continue;
      field.conditions.push_back({by, split(values, ' ')});
      found = true;
    }
    if (!found) find(name, "table of keys");
  }
}

void Binding::also_when(const std::string& key, const std::string& by, const std::string& value) {
  bool found = false;
  for (Condition& condition : field(key).conditions) {
    if (condition.by != by) continue;
    condition.values.push_back(value);
    found = true;
  }
  if (!found) throw UsageError("table of keys: " + key + " has no condition on " + by);
}

Binding::Field& Binding::field(const std::string& key) {
  return find(key, "table of keys");
}

Binding::Field& Binding::find(const std::string& key, const std::string& where) {
  for (auto& field : fields_) {
    if (field.key == key) return field;
  }
  const std::vector<std::string> near = meant(key);
  throw UsageError(cat(where, ": unknown key '", printable_line(key), "'",
                       near.empty() ? "; " + document_ + " lists the keys"
                                    : "; did you mean '" + join(near, "' or '") + "'? (" +
                                          document_ + " lists the keys)"));
}

void Binding::also_called(const std::string& key, const std::string& names) {
  find(key, "table of keys");
  for (const std::string& name : split(names, ' ')) other_names_.emplace_back(name, key);
}

// The keys that an unknown one may have meant. Its group is believed where there is such a group or
// a similar one.
std::vector<std::string> Binding::meant(const std::string& unknown) const {
  const std::vector<std::string> all = keys();
  const auto is_key = [&](const std::string& key) {
    return std::find(all.begin(), all.end(), key) != all.end();
  };
  std::string name = lower(unknown);
  std::replace(name.begin(), name.end(), '-', '_');
  if (is_key(name)) return {name};
  const size_t dot = name.rfind('.');
  const std::string last = dot == std::string::npos ? name : name.substr(dot + 1);
  std::vector<std::string> called, lasts{last};
  for (const auto& [other, key] : other_names_) {
    if (other != last) continue;
    called.push_back(key);
    lasts.push_back(key.substr(key.rfind('.') + 1));
  }
  const std::string near = closest(unknown, all);
  if (dot != std::string::npos) {
    std::vector<std::string> groups;
    for (const std::string& key : all) {
      if (key.find('.') != std::string::npos) groups.push_back(key.substr(0, key.rfind('.')));
    }
    const std::string group = name.substr(0, dot);
    for (const std::string& one : {group, closest(group, groups)}) {
      for (const std::string& end : lasts) {
        if (is_key(one + "." + end)) return {one + "." + end};
      }
    }
    if (is_key(last)) return {last};
    const bool known = std::find(groups.begin(), groups.end(), group) != groups.end();
    if (known && !near.empty()) return {near};
  }
  if (!called.empty()) return called;
  std::vector<std::string> out;
  for (const std::string& key : all) {
    if (key.ends_with("." + last)) out.push_back(key);
  }
  constexpr size_t kMost = 3;
  if (!out.empty() && out.size() <= kMost) return out;
  return near.empty() ? std::vector<std::string>{} : std::vector<std::string>{near};
}

bool Binding::is_gone(const std::string& key, const std::string& value,
                      const std::string& where) const {
  for (const auto& [name, stands_for] : gone_) {
    if (name != key) continue;
    // As TOML prints it: 0.95 may become 0.94999999999999996.
    if (value == node_text(*toml::parse(cat("v = ", stands_for)).get("v"))) return true;
    throw UsageError(cat(where, ": ", key, " = ", value,
                         ": this version knows no such key and does as with ", stands_for));
  }
  return false;
}

namespace {

using Visit = std::function<void(const std::string&, const toml::key&, const toml::node&)>;

void walk(const toml::table& table, const std::string& prefix, const Visit& visit) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const auto* inner = node.as_table()) {
      walk(*inner, key + ".", visit);
    } else {
      visit(key, name, node);
    }
  }
}

}  // namespace

void Binding::load_toml(std::string_view text, const std::string& file_name) {
  refuse_unsafe_toml(text, file_name);
  toml::table parsed;
  try {
    parsed = toml::parse(text, file_name);
  } catch (const toml::parse_error& error) {
    throw UsageError(cat(file_name, ":", error.source().begin.line, ":",
                         error.source().begin.column, ": not TOML: ", error.description()));
  }
  const auto place = [&](const toml::source_position& at) {
    return cat(file_name, ":", at.line, ":", at.column);
  };
  walk(parsed, "", [&](const std::string& key, const toml::key& name, const toml::node& node) {
    if (is_gone(key, node_text(node), place(name.source().begin))) return;
    assign(find(key, place(name.source().begin)), node, place(node.source().begin));
  });
}

void Binding::set(const std::string& assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos) {
    throw UsageError("--set " + assignment + ": expected key=value; " + document_ +
                     " lists the keys");
  }
  const std::string key = trim(std::string_view(assignment).substr(0, equals));
  set(key, trim(std::string_view(assignment).substr(equals + 1)), "--set " + key);
}

void Binding::set(const std::string& key, const std::string& value, const std::string& where) {
  Field& field = find(key, where);
  toml::table parsed;
  bool is_toml = true;
  try {
    refuse_unsafe_toml(value, where);
    parsed = toml::parse("value = " + value);
  } catch (const UsageError&) {
    is_toml = false;
  } catch (const toml::parse_error&) {
    is_toml = false;
  }
  const toml::node* node = is_toml && parsed.size() == 1 ? parsed.get("value") : nullptr;
  const bool wants_text = std::holds_alternative<std::string*>(field.target) ||
                          std::holds_alternative<std::vector<std::string>*>(field.target);
  // Bare text: for a string also what happens to read as a number or a date.
  if (node == nullptr || (wants_text && !node->is_string() && !node->is_array())) {
    const toml::value<std::string> text(bytes_to_utf8(value));
    assign(field, text, where);
  } else {
    assign(field, *node, where);
  }
}

std::string Binding::type_name(const Field& field) {
  return std::visit(TypeName{}, field.target);
}
std::string Binding::value_text(const Field& field) {
  return std::visit(ValueText{}, field.target);
}

std::string Binding::to_toml() const {
  std::string top;
  std::vector<std::pair<std::string, std::string>> sections;  // in the order of first appearance
  for (const auto& field : fields_) {
    const auto dot = field.key.rfind('.');
    const std::string line = field.key.substr(dot + 1) + " = " + value_text(field) + "\n";
    if (dot == std::string::npos) {
      top += line;
      continue;
    }
    const std::string section = field.key.substr(0, dot);
    auto at = std::find_if(sections.begin(), sections.end(),
                           [&](const auto& entry) { return entry.first == section; });
    if (at == sections.end()) at = sections.insert(sections.end(), {section, ""});
    at->second += line;
  }
  for (const auto& [name, lines] : sections) top += "\n[" + name + "]\n" + lines;
  return top;
}

std::vector<std::string> Binding::differences(const Binding& other) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (value_text(fields_[i]) != value_text(other.fields_[i])) names.push_back(fields_[i].key);
  }
  return names;
}

}  // namespace adagp::core
