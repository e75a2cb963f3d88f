// What a GP step does with each parameter of a network.

#include <algorithm>
#include <map>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/nn/batch_norm.h"
#include "adagp/engine/nn/embedding.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/nn/layer_norm.h"

namespace adagp::layers {
namespace {

// Kinds of the parameters that no weight layer has, by name.
std::map<std::string, std::string> other_kinds(models::Net& net) {
  std::map<std::string, std::string> kinds;
  std::vector<at::Tensor> borrowed;
  std::vector<std::pair<std::string, at::Tensor>> embeddings;
  for (const auto& item : net.named_modules("", /*include_self=*/false)) {
    const torch::nn::Module& module = *item.value();
    const std::string weight = item.key() + ".weight", bias = item.key() + ".bias";
    if (module.as<nn::BatchNorm2dImpl>() != nullptr || module.as<nn::LayerNormImpl>() != nullptr) {
      kinds[weight] = kinds[bias] = "norm";
    } else if (const auto* words = module.as<nn::EmbeddingImpl>()) {
      embeddings.emplace_back(weight, words->weight);
    } else if (const auto* borrower = dynamic_cast<const models::BorrowsWeight*>(&module)) {
      borrowed.push_back(borrower->borrowed_weight());
      kinds[bias] = "bias";
    }
  }
  for (const auto& [name, words] : embeddings) {
    const bool tied =
        std::any_of(borrowed.begin(), borrowed.end(),
                    [&words = words](const at::Tensor& other) { return other.is_same(words); });
    kinds[name] = tied ? "tied embedding" : "embedding";
  }
  return kinds;
}

}  // namespace

std::vector<Coverage> coverage(models::Net& net, const std::string& head) {
  const std::vector<std::string> choices{"predicted", "exact", "frozen"};
  if (std::find(choices.begin(), choices.end(), head) == choices.end()) {
    throw UsageError("unknown head '" + head + "'" + core::suggestion(head, choices));
  }
  const std::vector<std::string> heads = net.heads();
  std::map<std::string, Coverage> known;  // parameters of weight layers
  for (const nn::WeightLayer* layer : nn::collect(net)) {
    const bool is_head = std::find(heads.begin(), heads.end(), layer->path()) != heads.end();
    const bool is_conv = layer->info().kind == nn::LayerKind::kConv2d;
    const std::string weight = layer->path() + "." + layer->names().weight;
    const std::string bias = layer->path() + "." + layer->names().bias;
    known[weight] = {weight, is_conv ? "conv weight" : "linear weight",
                     layer->frozen() ? "frozen"
                     : is_head       ? head
                                     : "predicted",
                     0};
    known[bias] = {bias, "bias", is_head && head == "exact" ? "exact" : "frozen", 0};
  }
  const auto kinds = other_kinds(net);
  std::vector<Coverage> all;
  for (const auto& item : net.named_parameters()) {
    const std::string& name = item.key();
    const auto found = known.find(name);
    const auto kind = kinds.find(name);
    Coverage entry =
        found != known.end()
            ? found->second
            : Coverage{name, kind != kinds.end() ? kind->second : "other", "frozen", 0};
    entry.parameters = item.value().numel();
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace adagp::layers
