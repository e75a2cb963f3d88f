#pragma once
// A vector for every word, with torch.nn.Embedding's name. Its gradient is never predicted: there
// is no activation to predict it from.

#include <torch/nn/module.h>

namespace adagp::nn {

class EmbeddingImpl : public torch::nn::Module {
 public:
  EmbeddingImpl(int64_t words, int64_t width);
  at::Tensor forward(const at::Tensor& numbers);  // int64 [...] -> [..., width]

  at::Tensor weight;  // [words, width]
};
TORCH_MODULE(Embedding);

}  // namespace adagp::nn
