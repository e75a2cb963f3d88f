#include "adagp/sim/layers/onnx/names.h"

#include <algorithm>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/onnx/op_names.h"

namespace adagp::layers {
namespace {

// Of torch's exporters: "onnx::MatMul_123", "val_12"; of Constant nodes "/layer/Constant_output_0".
bool is_made_up(const std::string& name) {
  if (name.starts_with("onnx::") || name.starts_with('/')) return true;
  const std::string number = name.starts_with("val_") ? name.substr(4) : "";
  return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
}

std::string role(const OnnxNode& node, size_t place) {
  if (node.op == "LSTM" || node.op == "GRU" || node.op == "RNN") {
    return place == 1 ? ".weight_ih" : place == 2 ? ".weight_hh" : ".bias";
  }
  return place == places_of(node.op).bias ? ".bias" : ".weight";
}

}  // namespace

std::string module_of(const std::string& node_name) {
  if (!node_name.starts_with('/')) return "";
  std::vector<std::string> path, parts = core::split(node_name.substr(1), '/');
  if (!parts.empty()) parts.pop_back();
  for (const std::string& part : parts) {
    if (!path.empty() && part.starts_with(path.back() + ".")) path.pop_back();
    path.push_back(part);
  }
  return core::join(path, ".");
}

std::string innermost_scope(const std::string& scopes) {
  const auto parts = core::split(scopes, '\'');  // the texts are every second part
  return parts.size() < 6 ? "" : parts[parts.size() - 4];
}

std::string one_line(std::string name) {
  for (char& letter : name) {
    if (static_cast<unsigned char>(letter) < 0x20) letter = '_';
  }
  return name;
}

void OnnxNames::look_at(const std::vector<OnnxNode>& nodes) {
  for (const OnnxNode& node : nodes) {
    for (size_t place = 0; place < node.inputs.size(); ++place) {
      if (!is_made_up(node.inputs[place])) continue;
      const std::string path = !node.module.empty()   ? node.module
                               : !node.name.empty()   ? node.name
                               : node.outputs.empty() ? node.op
                                                      : node.outputs[0];
      users_.try_emplace(node.inputs[place], path + role(node, place));
    }
  }
}

std::string OnnxNames::of(const std::string& weight) {
  const auto user = users_.find(weight);
  const std::string name = one_line(user == users_.end() ? weight : user->second);
  std::string unique = name;
  // The number goes before ".weight", which rows do without.
  const size_t dot = std::min(name.rfind('.'), name.size());
  for (int& i = times_[name]; !taken_.insert(unique).second;) {
    unique = core::cat(name.substr(0, dot), "_", ++i + 1, name.substr(dot));
  }
  return unique;
}

}  // namespace adagp::layers
