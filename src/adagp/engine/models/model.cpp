#include "adagp/engine/models/model.h"

#include <algorithm>

#include "adagp/base/core/lookup.h"
#include "adagp/engine/nn/growing_map.h"

namespace adagp::models {

Form parse_form(const std::string& text) {
  constexpr std::pair<const char*, Form> kForms[] = {{"imagenet", Form::kImagenet},
                                                     {"cifar", Form::kCifar}};
  return core::find_named(kForms, text, "unknown form").second;
}

std::string form_name(Form form) {
  return form == Form::kImagenet ? "imagenet" : "cifar";
}

std::string task_name(TaskKind task) {
  switch (task) {
    case TaskKind::kDetection:
      return "detection";
    case TaskKind::kTranslation:
      return "translation";
    default:
      return "classification";
  }
}

Block block(std::string name, std::function<at::Tensor(const at::Tensor&)> step) {
  return {std::move(name),
          [step = std::move(step)](const Tensors& x) { return Tensors{step(x.at(0))}; }};
}

Tensors differentiable(const Tensors& tensors) {
  Tensors out;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.requires_grad()) out.push_back(tensor);
  }
  return out;
}

Tensors BlockNet::run(const Tensors& inputs) {
  Tensors x = inputs;
  for (const Block& block : blocks_) x = block.run(x);
  return x;
}

Tensors BlockNet::run_part(const Tensors& inputs, size_t first, size_t end) const {
  Tensors x = inputs;
  for (size_t b = first; b < end; ++b) x = blocks_.at(b).run(x);
  for (at::Tensor& value : x) value = nn::dense(value);
  return x;
}

bool has_frozen_blocks(const Net& net) {
  const auto* in_blocks = dynamic_cast<const BlockNet*>(&net);
  return in_blocks != nullptr && std::any_of(in_blocks->blocks().begin(), in_blocks->blocks().end(),
                                             [](const Block& block) { return block.frozen; });
}

Form form_for(const Entry& entry, int64_t height, int64_t width) {
  constexpr int64_t kSmall = 32;
  const bool small = height <= kSmall && width <= kSmall;
  return small ? Form::kCifar : entry.default_form;
}

int64_t narrowed(int64_t channels, const Options& options) {
  if (options.width_divisor >= 1 && channels % options.width_divisor == 0) {
    return channels / options.width_divisor;
  }
  throw UsageError(core::cat("width_divisor ", options.width_divisor, " does not divide ", channels,
                             " channels; take a divisor of all the network's widths"));
}

int64_t parameter_count(const torch::nn::Module& model) {
  int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters()) count += parameter.numel();
  return count;
}

}  // namespace adagp::models
