// The encoder-decoder Transformer (Vaswani et al. 2017) as torch.nn.Transformer builds it by
// default (norm after each sublayer, ReLU, a norm after each stack), inside a module with
// src_embedding, tgt_embedding and generator.

#include <cmath>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/models/families.h"
#include "adagp/engine/models/transformer_layers.h"
#include "adagp/engine/models/translator.h"
#include "adagp/engine/nn/embedding.h"
#include "adagp/engine/nn/initial_values.h"
#include "adagp/engine/nn/ops.h"

namespace adagp::models {
namespace {

// The output layer that computes with the target embedding's weights. Not a tapped layer: the
// gradient of a shared weight has a part that no activation of this layer shows.
class TiedOutput : public torch::nn::Module, public BorrowsWeight {
 public:
  TiedOutput(std::shared_ptr<nn::EmbeddingImpl> words, int64_t count) : words_(std::move(words)) {
    bias_ = register_parameter("bias", nn::make_tensor({count}));
    if (!nn::shape_only()) bias_.detach().zero_();
  }
  at::Tensor forward(const at::Tensor& x) {
    if (!x.is_meta() && !bias_.is_meta()) return at::linear(x, words_->weight, bias_);
    const int64_t rows = x.numel() / x.size(-1), count = words_->weight.size(0);
    const auto options = x.options().device(at::kMeta);
    std::vector<int64_t> shape = x.sizes().vec();
    shape.back() = count;
    const at::Tensor y = at::empty(shape, options);
    nn::report_op("matmul",
                  {at::empty({1, 1, rows, x.size(-1)}, options),
                   at::empty({1, 1, x.size(-1), count}, options), bias_},
                  at::empty({1, 1, rows, count}, options));
    return y;
  }
  const at::Tensor& borrowed_weight() const override { return words_->weight; }

 private:
  std::shared_ptr<nn::EmbeddingImpl> words_;
  at::Tensor bias_;
};

// sin and cos of position / 10000^(2i / width), in turn: [longest, width].
at::Tensor sinusoids(int64_t longest, int64_t width) {
  const at::Tensor position = at::arange(longest, at::kDouble).unsqueeze(1);
  const at::Tensor even = at::arange(0, width, 2, at::kDouble);
  const at::Tensor angles = position * at::exp(even * (-std::log(10000.0) / double(width)));
  return at::stack({angles.sin(), angles.cos()}, 2).flatten(1).narrow(1, 0, width);
}

void check_sizes(const TransformerOptions& o) {
  const bool fine = o.source_words > 0 && o.target_words > 0 && o.width > 0 && o.heads > 0 &&
                    o.hidden > 0 && o.encoder_layers > 0 && o.decoder_layers > 0 && o.longest > 0 &&
                    o.dropout >= 0 && o.dropout < 1;
  if (!fine) {
    throw UsageError(
        "transformer: vocabularies, width, heads, hidden, layers and longest must be at least 1, "
        "dropout at least 0 and under 1");
  }
}

class Transformer : public Translator {
 public:
  Transformer(const TransformerOptions& o, const Options& options)
      : width_(narrowed(o.width, options)),
        longest_(o.longest),
        padding_(o.padding),
        dropout_(o.dropout) {
    const LayerSizes sizes{width_, o.heads, narrowed(o.hidden, options), o.dropout};
    src_embedding_ = register_module("src_embedding", nn::Embedding(o.source_words, width_).ptr());
    tgt_embedding_ = register_module("tgt_embedding", nn::Embedding(o.target_words, width_).ptr());
    auto body = register_module("transformer", std::make_shared<Module>("transformer"));
    encoder_norm_ = add_stack(*body, "encoder", o.encoder_layers, sizes, encoder_);
    decoder_norm_ = add_stack(*body, "decoder", o.decoder_layers, sizes, decoder_);
    if (o.tied) {
      tied_ = register_module("generator",
                              std::make_shared<TiedOutput>(tgt_embedding_, o.target_words));
    } else {
      generator_ = register_module("generator", nn::Linear(width_, o.target_words).ptr());
    }
    initialise();
    list_blocks();
  }

  std::vector<std::string> heads() const override {
    return tied_ ? std::vector<std::string>{} : std::vector<std::string>{"generator"};
  }

  Encoded encode(const at::Tensor& source) override {
    const at::Tensor mask = mask_of(source);
    at::Tensor x = embed(*src_embedding_, source);
    for (auto& layer : encoder_) x = layer->forward(x, mask);
    return {encoder_norm_->forward(x), mask};
  }

  at::Tensor next_word(const at::Tensor& target, const Encoded& source) override {
    at::Tensor x = embed(*tgt_embedding_, target);
    for (auto& layer : decoder_) x = layer->forward(x, source.memory, source.mask);
    return generate(decoder_norm_->forward(x.select(1, x.size(1) - 1)));
  }

 private:
  using Module = torch::nn::Module;

  template <typename Layer>
  std::shared_ptr<nn::LayerNormImpl> add_stack(Module& body, const std::string& name, int64_t count,
                                               const LayerSizes& sizes,
                                               std::vector<std::shared_ptr<Layer>>& layers) {
    auto stack = body.register_module(name, std::make_shared<Module>(name));
    auto list = stack->register_module("layers", std::make_shared<Module>("layers"));
    for (int64_t i = 0; i < count; ++i) {
      layers.push_back(list->register_module(std::to_string(i), std::make_shared<Layer>(sizes)));
    }
    return stack->register_module("norm", nn::LayerNorm(sizes.width).ptr());
  }

  // As torch.nn.Transformer: every matrix Xavier-uniform; attention begins without biases.
  void initialise() {
    if (nn::shape_only()) return;
    const torch::NoGradGuard no_grad;
    for (auto& item : named_parameters()) {
      at::Tensor& value = item.value();
      if (value.dim() > 1) {
        const double bound = std::sqrt(6.0 / static_cast<double>(value.size(0) + value.size(1)));
        nn::draw_uniform(value, -bound, bound);
      } else if (item.key().ends_with("in_proj_bias") || item.key().ends_with("out_proj.bias")) {
        value.zero_();
      }
    }
  }

  // A cut inside the encoder carries {x, target, source mask}, one inside the decoder {x, memory,
  // source mask}.
  void list_blocks() {
    blocks_.push_back({"src_embedding", [this](const Tensors& in) {
                         check_inputs(in);
                         return Tensors{embed(*src_embedding_, in[0]), in[1], mask_of(in[0])};
                       }});
    for (size_t i = 0; i < encoder_.size(); ++i) {
      blocks_.push_back({core::cat("transformer.encoder.layers.", i), [this, i](const Tensors& in) {
                           return Tensors{encoder_[i]->forward(in[0], in[2]), in[1], in[2]};
                         }});
    }
    blocks_.push_back(
        {"transformer.encoder.norm", [this](const Tensors& in) {
           return Tensors{embed(*tgt_embedding_, in[1]), encoder_norm_->forward(in[0]), in[2]};
         }});
    for (size_t i = 0; i < decoder_.size(); ++i) {
      blocks_.push_back({core::cat("transformer.decoder.layers.", i), [this, i](const Tensors& in) {
                           return Tensors{decoder_[i]->forward(in[0], in[1], in[2]), in[1], in[2]};
                         }});
    }
    blocks_.push_back({"transformer.decoder.norm", [this](const Tensors& in) {
                         return Tensors{generate(decoder_norm_->forward(in[0]))};
                       }});
  }

  static void check_inputs(const Tensors& in) {
    if (in.size() == 2 && in[0].dim() == 2 && in[1].dim() == 2 && in[0].size(0) == in[1].size(0)) {
      return;
    }
    throw UsageError(
        core::cat("transformer: ", in.size(),
                  " inputs, expected source [B, S] and target [B, T] of word numbers"));
  }

  at::Tensor mask_of(const at::Tensor& source) const {
    if (source.is_meta()) return at::empty(source.sizes(), source.options().dtype(at::kBool));
    return source.ne(padding_);
  }

  at::Tensor embed(nn::EmbeddingImpl& words, const at::Tensor& numbers) {
    if (numbers.size(1) > longest_) {
      throw UsageError(core::cat("transformer: a sentence of ", numbers.size(1),
                                 " words, expected at most ", longest_, " (model.longest)"));
    }
    at::Tensor x =
        words.forward(numbers) * std::sqrt(static_cast<double>(width_));  // [B, T, width]
    if (x.is_meta()) return nn::add_(x, x);
    return nn::dropout(x + positions(x).narrow(0, 0, x.size(1)), dropout_, is_training());
  }

  const at::Tensor& positions(const at::Tensor& like) {
    if (!positions_.defined() || positions_.device() != like.device() ||
        positions_.scalar_type() != like.scalar_type()) {
      positions_ = sinusoids(longest_, width_).to(like.device(), like.scalar_type());
    }
    return positions_;
  }

  at::Tensor generate(const at::Tensor& x) {
    return tied_ ? tied_->forward(x) : generator_->forward(x);
  }

  int64_t width_, longest_, padding_;
  double dropout_;
  std::shared_ptr<nn::EmbeddingImpl> src_embedding_, tgt_embedding_;
  std::vector<std::shared_ptr<EncoderLayer>> encoder_;
  std::vector<std::shared_ptr<DecoderLayer>> decoder_;
  std::shared_ptr<nn::LayerNormImpl> encoder_norm_, decoder_norm_;
  std::shared_ptr<nn::LinearImpl> generator_;
  std::shared_ptr<TiedOutput> tied_;
  // Not a buffer: state dicts have none. Made for the device of the first batch.
  at::Tensor positions_;
};

}  // namespace

std::shared_ptr<Net> transformer(const Options& options) {
  check_sizes(options.transformer);
  return std::make_shared<Transformer>(options.transformer, options);
}

}  // namespace adagp::models
