#pragma once
// The small network behind a cut that method modules puts there for some of its signals.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/modules/container/sequential.h>

#include "adagp/rivals/method/modules.h"

namespace adagp::method {

// The published "mlp-sr": the map is pooled to a quarter of its side; three 1x1 convolutions;
// pooled to 2x2; three fully connected layers and the classifier.
class AuxiliaryHead : public torch::nn::Module {
 public:
  AuxiliaryHead(int64_t channels, int64_t height, int64_t width, int64_t classes);
  at::Tensor forward(const at::Tensor& x);
  double macs() const { return macs_; }  // of one example, forward

 private:
  static constexpr int kLayers = 3;
  torch::nn::Sequential maps_, vectors_;
  double macs_ = 0;
};

// One behind each of `shapes` (of one example: [1, C, H, W] or [1, C]), and their optimizer.
class AuxiliaryHeads {
 public:
  // Throws UsageError for a task without classes and for batches of one example.
  AuxiliaryHeads(const step::Session& session, const std::vector<at::Tensor>& shapes,
                 const optim::Config& optimizer);

  void set_lr(double rate);
  at::Tensor classify(const step::Session& session, size_t head, const at::Tensor& x) const;
  double macs(size_t head) const { return heads_[head]->macs(); }
  std::vector<at::Tensor> parameters(size_t head) const { return heads_[head]->parameters(); }
  // All take a step with the gradients they have.
  void update(const step::Session& session);

  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  std::vector<std::shared_ptr<AuxiliaryHead>> heads_;
  std::unique_ptr<optim::Optimizer> optimizer_;  // null: there are none
};

}  // namespace adagp::method
