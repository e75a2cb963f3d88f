#include "adagp/sim/layers/table_names.h"

namespace adagp::layers {

std::string RowNames::weight_layer(const std::string& path) {
  const int use = ++uses_[path];
  last_ = use == 1 ? path : path + "#" + std::to_string(use);
  return last_;
}

std::string RowNames::weight_part(const std::string& path, const std::string& part) {
  auto& parts = parts_[path];
  const size_t number = parts.try_emplace(part, parts.size()).first->second;
  return weight_layer(path + "[" + std::to_string(number) + "]");
}

std::string RowNames::operation(const std::string& op) {
  const std::string name = last_ + "/" + op;
  const int use = ++uses_[name];
  return use == 1 ? name : name + std::to_string(use);
}

}  // namespace adagp::layers
