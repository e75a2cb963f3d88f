#include "adagp/sim/layers/onnx/scope.h"

#include "adagp/base/core/error.h"

namespace adagp::layers {

std::string OnnxScope::define(const std::string& name) {
  std::string global = prefix_ + name;
  if (!names_.try_emplace(name, global).second) {
    throw DataError("two values are named '" + name + "'");
  }
  return global;
}

std::optional<std::string> OnnxScope::find(const std::string& name) const {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  return outer_ == nullptr ? std::nullopt : outer_->find(name);
}

}  // namespace adagp::layers
