#pragma once
// Names of values: a function and a branch have names of their own, which may be the same as others
// of the file. Torch-free.

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace adagp::layers {

class OnnxScope {
 public:
  // `outer`: the names that are seen from here; null inside functions, which see none.
  OnnxScope(const OnnxScope* outer, std::string prefix)
      : outer_(outer), prefix_(std::move(prefix)) {}

  // The name in the graph of a new value. Throws DataError when the scope has one of that name.
  std::string define(const std::string& name);
  // Another name of a value that the graph has.
  void alias(const std::string& name, const std::string& global) { names_[name] = global; }
  // None when no value has this name; "" for an operand that the caller of a function left out.
  std::optional<std::string> find(const std::string& name) const;

 private:
  const OnnxScope* outer_;
  std::string prefix_;
  std::map<std::string, std::string> names_;
};

}  // namespace adagp::layers
