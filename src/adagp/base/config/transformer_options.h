#pragma once
// Sizes of the Transformer; the `model.*` keys of a recipe. No torch here.

#include <cstdint>

namespace adagp::models {

// Of the encoder-decoder Transformer; torch.nn.Transformer calls them d_model, nhead,
// dim_feedforward.
struct TransformerOptions {
  int64_t source_words = 8000, target_words = 8000;  // sizes of the vocabularies
  int64_t width = 512, heads = 8, hidden = 2048;
  int64_t encoder_layers = 3, decoder_layers = 3;
  int64_t longest = 512;  // tokens of a sentence
  int64_t padding = 1;    // the number that fills up short sentences
  double dropout = 0.1;
  bool tied = false;  // the output layer shares the target embedding's weights
};

}  // namespace adagp::models
