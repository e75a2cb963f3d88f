#include "adagp/train/weights.h"

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::train {
namespace {

constexpr size_t kListed = 10;

std::string listed(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::vector<std::string> head(names.begin(), names.begin() + std::min(names.size(), kListed));
  return core::cat("; ", names.size(), " ", what, ": ", core::join(head, ", "),
                   names.size() > kListed ? ", ..." : "");
}

std::string shape_text(const at::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const auto size : tensor.sizes()) sizes.push_back(std::to_string(size));
  return "[" + core::join(sizes, ", ") + "]";
}

}  // namespace

io::TensorMap state_dict(const torch::nn::Module& net) {
  io::TensorMap out;
  for (const auto& item : net.named_parameters()) out[item.key()] = item.value().detach();
  for (const auto& item : net.named_buffers()) out[item.key()] = item.value();
  return out;
}

void load_state_dict(torch::nn::Module& net, const io::TensorMap& tensors,
                     const std::string& source) {
  const at::NoGradGuard no_grad;
  io::TensorMap own = state_dict(net);
  std::vector<std::string> missing, unexpected, misshapen;
  for (const auto& [name, tensor] : own) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      missing.push_back(name);
    } else if (found->second.sizes() != tensor.sizes()) {
      misshapen.push_back(core::cat(name, " (got ", shape_text(found->second), ", expected ",
                                    shape_text(tensor), ")"));
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (!own.contains(name)) unexpected.push_back(name);
  }
  if (!missing.empty() || !unexpected.empty() || !misshapen.empty()) {
    throw DataError(source + ": does not fit the network" + listed("missing", missing) +
                    listed("unexpected", unexpected) + listed("of another shape", misshapen));
  }
  for (auto& [name, tensor] : own) tensor.copy_(tensors.at(name));
}

std::map<std::string, std::string> to_metadata(const ModelTag& tag) {
  return {{"model", tag.name},
          {"form", tag.form},
          {"classes", std::to_string(tag.classes)},
          {"width_divisor", std::to_string(tag.width_divisor)}};
}

ModelTag from_metadata(const std::map<std::string, std::string>& metadata) {
  ModelTag tag;
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  tag.name = text("model");
  tag.form = text("form");
  long long number = 0;
  if (core::parse_integer(text("classes"), number)) tag.classes = number;
  if (core::parse_integer(text("width_divisor"), number) && number > 0) tag.width_divisor = number;
  return tag;
}

}  // namespace adagp::train
