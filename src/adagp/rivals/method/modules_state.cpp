#include "adagp/rivals/method/modules_state.h"

#include <ATen/ATen.h>

#include "adagp/base/core/text.h"

namespace adagp::method {
namespace {

constexpr auto kLeaf = ".leaf";
constexpr auto kChannelsLast = ".channels-last";

}  // namespace

void put_tensors(std::map<std::string, at::Tensor>& state, const std::string& name,
                 const models::Tensors& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& x = tensors[i];
    const bool last = x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast);
    state[core::cat(name, ".", i, x.requires_grad() ? kLeaf : "", last ? kChannelsLast : "")] =
        x.detach();
  }
}

models::Tensors take_tensors(const std::map<std::string, at::Tensor>& state,
                             const std::string& name) {
  models::Tensors out;
  while (true) {
    bool found = false;
    for (const bool leaf : {false, true}) {
      for (const bool last : {false, true}) {
        const auto entry = state.find(
            core::cat(name, ".", out.size(), leaf ? kLeaf : "", last ? kChannelsLast : ""));
        if (entry == state.end()) continue;
        at::Tensor x = entry->second.detach();
        if (last) x = x.contiguous(at::MemoryFormat::ChannelsLast);
        // A copy: the checkpoint's own tensor must not get a gradient.
        out.push_back(leaf ? x.clone().requires_grad_() : x);
        found = true;
        break;
      }
      if (found) break;
    }
    if (!found) return out;
  }
}

}  // namespace adagp::method
