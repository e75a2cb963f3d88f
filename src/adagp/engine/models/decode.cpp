#include <limits>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/models/translator.h"

namespace adagp::models {
namespace {

// The hypotheses of a batch in step: K for each of B sentences.
struct Beams {
  at::Tensor words;   // int64 [B, K, t], beginning with the begin mark
  at::Tensor score;   // [B, K], sum of log-probabilities; -inf: no hypothesis yet
  at::Tensor length;  // [B, K], words written, the end mark included
  at::Tensor done;    // bool [B, K]
};

Beams first_beams(int64_t batch, const SearchOptions& o, at::Device device) {
  const auto floats = at::TensorOptions(device).dtype(at::kFloat);
  Beams beams;
  beams.words = at::full({batch, o.beam, 1}, o.begin, floats.dtype(at::kLong));
  // All hypotheses are equal at first: only one of each sentence counts.
  beams.score = at::full({batch, o.beam}, -std::numeric_limits<double>::infinity(), floats);
  beams.score.select(1, 0).zero_();
  beams.length = at::zeros({batch, o.beam}, floats);
  beams.done = at::zeros({batch, o.beam}, floats.dtype(at::kBool));
  return beams;
}

at::Tensor normalised(const at::Tensor& score, const at::Tensor& length, double penalty) {
  return penalty == 0 ? score : score / length.clamp_min(1).pow(penalty);
}

// `log_probability` [B, K, V] of the next word.
Beams extend(const Beams& old, const at::Tensor& log_probability, const SearchOptions& o) {
  const int64_t batch = old.score.size(0), vocabulary = log_probability.size(2);
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  at::Tensor added = log_probability;
  for (const int64_t word : o.never) added.select(2, word).fill_(kNever);
  // A finished hypothesis stays as it is: the end mark once more, for nothing.
  const at::Tensor done = old.done.unsqueeze(2);
  added = added.masked_fill(done, kNever);
  added.select(2, o.end).masked_fill_(old.done, 0);

  const at::Tensor score = old.score.unsqueeze(2) + added;  // [B, K, V]
  const at::Tensor length = (old.length + old.done.logical_not()).unsqueeze(2).expand_as(score);
  const auto [best, place] =
      normalised(score, length, o.length_penalty).flatten(1).topk(o.beam, 1);  // [B, K]
  const at::Tensor from = place.floor_divide(vocabulary), word = place.remainder(vocabulary);

  Beams next;
  next.score = score.flatten(1).gather(1, place);
  next.length = length.flatten(1).gather(1, place);
  next.done = old.done.gather(1, from).logical_or(word.eq(o.end));
  const at::Tensor history =
      old.words.gather(1, from.unsqueeze(2).expand({batch, o.beam, old.words.size(2)}));
  next.words = at::cat({history, word.unsqueeze(2)}, 2);
  return next;
}

void check_search(const SearchOptions& o, const at::Tensor& source) {
  if (source.dim() != 2 || source.scalar_type() != at::kLong) {
    throw UsageError(core::cat("translate: source ", source.sizes(), ", expected int64 [B, S]"));
  }
  if (o.beam < 1 || o.longest < 1) {
    throw UsageError(core::cat("translate: beam ", o.beam, ", longest ", o.longest,
                               "; both must be at least 1"));
  }
}

}  // namespace

std::vector<std::vector<int64_t>> translate(Translator& net, const at::Tensor& source,
                                            const SearchOptions& o) {
  check_search(o, source);
  const at::NoGradGuard no_grad;
  const bool was_training = net.is_training();
  net.eval();
  auto encoded = net.encode(source);
  encoded.memory = encoded.memory.repeat_interleave(o.beam, 0);
  encoded.mask = encoded.mask.repeat_interleave(o.beam, 0);

  const int64_t batch = source.size(0);
  Beams beams = first_beams(batch, o, source.device());
  for (int64_t step = 0; step < o.longest; ++step) {
    const at::Tensor scores = net.next_word(beams.words.flatten(0, 1), encoded);
    beams = extend(beams, at::log_softmax(scores, -1, at::kFloat).view({batch, o.beam, -1}), o);
    if (beams.done.all().item<bool>()) break;
  }
  net.train(was_training);

  const at::Tensor best =
      normalised(beams.score, beams.length, o.length_penalty).argmax(1).view({-1, 1, 1});
  const at::Tensor words =
      beams.words.gather(1, best.expand({batch, 1, beams.words.size(2)})).squeeze(1).cpu();
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(batch));
  for (int64_t b = 0; b < batch; ++b) {
    const auto* row = words.const_data_ptr<int64_t>() + b * words.size(1);
    for (int64_t t = 1; t < words.size(1) && row[t] != o.end; ++t) {
      out[static_cast<size_t>(b)].push_back(row[t]);
    }
  }
  return out;
}

}  // namespace adagp::models
