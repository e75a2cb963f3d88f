#include "adagp/engine/layers/stages.h"

#include <map>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/sim/pipeline/partition.h"

namespace adagp::layers {
namespace {

class UseTap : public nn::TapSink {
 public:
  explicit UseTap(const models::Net& net) {
    for (const auto& item : net.named_parameters()) {
      names_[item.value().unsafeGetTensorImpl()] = item.key();
    }
  }
  void on_output(const nn::WeightLayer& layer, const at::Tensor&,
                 const at::Tensor& output) override {
    use->macs += static_cast<double>(output.numel() * layer.info().cols());
    add(layer.weight);
    add(layer.bias);
  }
  void on_op(const char* op, const std::vector<at::Tensor>& inputs,
             const at::Tensor& output) override {
    if (std::string_view(op) == "matmul") {
      use->macs += static_cast<double>(output.numel() * inputs.at(0).size(-1));
    }
    for (const at::Tensor& tensor : inputs) add(tensor);
  }

  BlockUse* use = nullptr;

 private:
  void add(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const auto found = names_.find(tensor.unsafeGetTensorImpl());
    if (found != names_.end()) use->parameters.insert(found->second);
  }
  std::map<const void*, std::string> names_;
};

// A block that uses a borrower's own parameters (its bias) uses the borrowed weight, too.
void add_borrowed(const models::Net& net, std::vector<BlockUse>& uses) {
  std::map<const void*, std::string> names;
  for (const auto& item : net.named_parameters()) {
    names[item.value().unsafeGetTensorImpl()] = item.key();
  }
  for (const auto& item : net.named_modules("", false)) {
    const auto* borrower = dynamic_cast<const models::BorrowsWeight*>(item.value().get());
    if (borrower == nullptr) continue;
    const std::string own = item.key() + ".";
    const std::string& weight = names.at(borrower->borrowed_weight().unsafeGetTensorImpl());
    for (BlockUse& use : uses) {
      const auto first = use.parameters.lower_bound(own);
      if (first != use.parameters.end() && first->starts_with(own)) use.parameters.insert(weight);
    }
  }
}

// What a cut may separate.
struct Pieces {
  std::vector<pipeline::Item> items;
  std::vector<size_t> first_block;
};

// A stage of pools alone would have nothing to train: what has no products goes with what is
// before it, the first ones with what follows.
Pieces pieces_of(const std::vector<BlockUse>& uses) {
  Pieces out;
  for (size_t b = 0; b < uses.size(); ++b) {
    if (out.items.empty() || (uses[b].macs > 0 && out.items.back().cost > 0)) {
      out.items.push_back({uses[b].name, 0, 0});
      out.first_block.push_back(b);
    }
    out.items.back().cost += uses[b].macs;
  }
  return out;
}

std::string module_of(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

}  // namespace

std::vector<BlockUse> trace_blocks(models::BlockNet& net, const std::string& model,
                                   const std::string& input) {
  const torch::NoGradGuard no_grad;
  nn::collect(net);
  UseTap tap(net);
  const nn::TapScope taps(tap);
  models::Tensors values = layers::shape_inputs(model, input);
  std::vector<BlockUse> uses;
  for (const models::Block& block : net.blocks()) {
    uses.push_back({block.name, {}, 0});
    tap.use = &uses.back();
    values = block.run(values);
    uses.back().outputs = values;
  }
  add_borrowed(net, uses);
  return uses;
}

int most_stages(const std::vector<BlockUse>& blocks) {
  return static_cast<int>(pieces_of(blocks).items.size());
}

Stages cut(models::Net& net, const std::string& model, const std::string& input, int stages) {
  Stages out;
  if (stages == 1) {
    out.names.emplace_back();
    for (const auto& item : net.named_parameters()) out.names[0].insert(item.key());
    for (const auto& item : net.named_buffers()) out.names[0].insert(item.key());
    return out;
  }
  auto* blocks = dynamic_cast<models::BlockNet*>(&net);
  if (blocks == nullptr) {
    throw UsageError(model + ": this network is not a list of blocks, so no pipeline can cut it");
  }
  const std::vector<BlockUse> uses = trace_blocks(*blocks, model, input);
  const Pieces pieces = pieces_of(uses);
  const pipeline::Partition parts = pipeline::partition(pieces.items, stages);
  for (const size_t item : parts.first) out.first.push_back(pieces.first_block[item]);
  out.first.push_back(uses.size());
  out.macs = parts.cost;
  out.names.resize(static_cast<size_t>(stages));

  std::map<std::string, std::set<size_t>> stages_of;  // parameters
  std::map<std::string, size_t> stage_of_module;
  for (size_t s = 0; s < out.names.size(); ++s) {
    for (size_t b = out.first[s]; b < out.first[s + 1]; ++b) {
      for (const std::string& name : uses[b].parameters) {
        stages_of[name].insert(s);
        stage_of_module.emplace(module_of(name), s);
      }
    }
  }
  const auto give = [&](const std::string& name) {
    if (const auto own = stages_of.find(name); own != stages_of.end()) {
      for (const size_t stage : own->second) out.names[stage].insert(name);
      return;
    }
    const auto near = stage_of_module.find(module_of(name));
    // What no block uses (a head that is off) stays with the last stage.
    out.names[near != stage_of_module.end() ? near->second : out.names.size() - 1].insert(name);
  };
  for (const auto& item : net.named_parameters()) give(item.key());
  for (const auto& item : net.named_buffers()) give(item.key());
  return out;
}

}  // namespace adagp::layers
