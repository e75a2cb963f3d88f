#pragma once
// Layer tables of decoder-only transformers (GPT-2, GPT-3) from their five sizes. The program
// cannot train them; the simulators take them as large networks.

#include <string>
#include <vector>

#include "adagp/sim/layers/table.h"

namespace adagp::layers {

// L blocks of width d, T tokens, V words:
//   parameters  (V + T) d + L (12 d^2 + 13 d) + 2 d
//   MACs of an example  T (12 L d^2 + V d) + 2 L T^2 d
// The output layer shares the words' embedding, which counts there. Attention counts the whole
// square of T x T, as a kernel without a causal mask computes it.
struct GptSizes {
  std::string name;
  int64_t layers, width, heads, tokens, words;
};

const std::vector<GptSizes>& gpt_sizes();      // as published
std::string gpt_input(const GptSizes& sizes);  // "tokens1024"
Table gpt_table(const GptSizes& sizes);

}  // namespace adagp::layers
