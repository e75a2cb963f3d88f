#pragma once
// Binds names such as "optim.lr" to the fields of plain structs, and fills them from TOML, the
// environment and key=value texts. The table of fields is also the documentation of the keys.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace adagp::core {

class Binding {
 public:
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<double>*,
                              std::vector<int64_t>*, std::vector<std::string>*>;

  // What a field is read for: `by` names another key, or a fact that follows from several.
  struct Condition {
    std::string by;
    std::vector<std::string> values;
  };

  struct Field {
    std::string key;
    std::string about;
    Target target;
    std::vector<std::string> choices;  // of a string; empty = anything
    // Limits of a number and of each number of a list. Where there is none, a whole number fits
    // into 32 bits. NaN and infinity are never allowed.
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    std::vector<Condition> conditions;  // all must hold, or the field changes nothing; empty: none

    Field& one_of(std::vector<std::string> names);
    Field& at_least(double limit);
    Field& between(double least, double most);
  };

  Binding() = default;
  // `document` is the page that lists the keys, for messages.
  explicit Binding(std::string document) : document_(std::move(document)) {}

  // `key` may have dots. The target must outlive the binding.
  Field& bind(std::string key, Target target, std::string about);

  // These keys, and groups of keys ("low_res."), are read only where `by` has one of the values;
  // both lists with spaces between. Throws UsageError for a name that is no key.
  void when(const std::string& names, const std::string& by, const std::string& values);
  // One more value of such a condition, for libraries.
  void also_when(const std::string& key, const std::string& by, const std::string& value);

  // A key of earlier versions, and the one value (as TOML) that stands for what always happens now:
  // files of that time load if they have it.
  void gone(std::string key, std::string value) {
    gone_.emplace_back(std::move(key), std::move(value));
  }

  // What other programs call a key, with spaces between, for the message about an unknown one.
  void also_called(const std::string& key, const std::string& names);

  // Each of these throws UsageError that says where (file:line:column, variable or flag), what was
  // found and what was expected; an unknown key gets the nearest one.
  void load_toml(std::string_view text, const std::string& file_name);
  void load_environment();  // ADAGP_OPTIM_LR for "optim.lr"; warns of ADAGP_* that is no key
  // "key=value": value in TOML, or a bare string when it is not TOML.
  void set(const std::string& assignment);
  void set(const std::string& key, const std::string& value, const std::string& where);

  // A warning for each of these variables that is named like a key and is none, with the nearest.
  std::vector<std::string> misspelt(const std::vector<std::string>& variables) const;

  // Every key with its present value; loads back to the same values.
  std::string to_toml() const;
  // The keys whose values differ from the other binding's (the same keys are bound in both).
  std::vector<std::string> differences(const Binding& other) const;
  std::vector<std::string> keys() const;
  // The field of a key that is bound, for libraries that know more values of it.
  Field& field(const std::string& key);
  const std::vector<Field>& fields() const { return fields_; }
  static std::string type_name(const Field& field);
  static std::string value_text(const Field& field);  // as TOML

 private:
  Field& find(const std::string& key, const std::string& where);
  bool is_gone(const std::string& key, const std::string& value, const std::string& where) const;
  std::vector<std::string> meant(const std::string& unknown) const;

  std::string document_ = "docs/configuration.md";
  std::vector<Field> fields_;
  std::vector<std::pair<std::string, std::string>> gone_;
  std::vector<std::pair<std::string, std::string>> other_names_;  // name, key
};

}  // namespace adagp::core
