#include "adagp/base/config/schema.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"

namespace adagp::config {
namespace {

using nlohmann::ordered_json;
using Field = core::Binding::Field;

constexpr double kExactWhole = 9007199254740992;  // 2^53: doubles below hold every whole number

ordered_json limited(const char* type, const Field& field) {
  ordered_json out = {{"type", type}};
  const auto limit = [&](const char* name, double value) {
    if (!std::isfinite(value)) return;
    const bool whole = std::trunc(value) == value && std::fabs(value) < kExactWhole;
    out[name] = whole ? ordered_json(static_cast<int64_t>(value)) : ordered_json(value);
  };
  limit("minimum", field.low);
  const bool whole_without_limit = type == std::string("integer") && std::isinf(field.high);
  limit("maximum", whole_without_limit ? std::numeric_limits<int32_t>::max() : field.high);
  return out;
}

// A single value stands for a list of one.
ordered_json one_or_list(const ordered_json& item) {
  return {{"anyOf", {item, {{"type", "array"}, {"items", item}}}}};
}

// The types that core::Binding assigns, and their limits.
struct SchemaOf {
  const Field& field;

  ordered_json operator()(const bool*) const { return {{"type", "boolean"}}; }
  ordered_json operator()(const int64_t*) const { return limited("integer", field); }
  ordered_json operator()(const double*) const { return limited("number", field); }
  ordered_json operator()(const std::string*) const {
    ordered_json out = {{"type", "string"}};
    if (!field.choices.empty()) out["enum"] = field.choices;
    return out;
  }
  ordered_json operator()(const std::vector<double>*) const {
    return one_or_list(limited("number", field));
  }
  ordered_json operator()(const std::vector<int64_t>*) const {
    return one_or_list(limited("integer", field));
  }
  ordered_json operator()(const std::vector<std::string>*) const {
    return one_or_list({{"type", "string"}});
  }
};

ordered_json value_of(const Field& field) {
  return std::visit([](const auto* value) { return ordered_json(*value); }, field.target);
}

ordered_json empty_section() {
  return {
      {"type", "object"}, {"additionalProperties", false}, {"properties", ordered_json::object()}};
}

}  // namespace

std::string json_schema(const core::Binding& binding, const std::string& title) {
  ordered_json root = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  root.update(empty_section());
  for (const Field& field : binding.fields()) {
    ordered_json* section = &root;
    auto parts = core::split(field.key, '.');
    const std::string name = parts.back();
    parts.pop_back();
    for (const std::string& part : parts) {
      ordered_json& properties = (*section)["properties"];
      if (!properties.contains(part)) properties[part] = empty_section();
      section = &properties[part];
    }
    ordered_json entry = {{"description", field.about}};
    entry.update(std::visit(SchemaOf{field}, field.target));
    const auto* number = std::get_if<double*>(&field.target);
    if (number == nullptr || std::isfinite(**number)) entry["default"] = value_of(field);
    (*section)["properties"][name] = std::move(entry);
  }
  return root.dump(2) + "\n";
}

}  // namespace adagp::config
