#pragma once
// The inputs of an ONNX graph, with a size along every axis. Torch-free.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adagp/sim/layers/onnx.h"
#include "adagp/sim/layers/onnx/file.h"

namespace adagp::layers {

// Names of values: a function and a branch have names of their own, which may be the same as others
// of the file. Torch-free.

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

struct OnnxInput {
  std::string name;
  std::vector<int64_t> sizes;
  std::vector<bool> free;  // of each size: not fixed by the file
};

// Constants are no inputs. `symbols` gets the sizes of the names that the file uses for free ones.
// Throws UsageError where sizes are missing or others than the file's.
std::vector<OnnxInput> fixed_inputs(const OnnxGraph& graph, const OnnxInputs& wanted,
                                    std::map<std::string, int64_t>& symbols);

}  // namespace adagp::layers
