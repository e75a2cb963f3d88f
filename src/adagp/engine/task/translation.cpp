#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/stream/sentence_loader.h"
#include "adagp/engine/metrics/bleu.h"
#include "adagp/engine/models/translator.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/task/task.h"
#include "adagp/gpu/device/autocast.h"

namespace adagp::task {
namespace {

// Few shapes: each is a CUDA graph, and attention's kernels like rows of a multiple of 8.
constexpr int64_t kMultiple = 8;

data::TextOptions text_options(const config::RunConfig& config) {
  const auto& t = config.translation;
  return {t.source, t.target, t.test, t.min_frequency, t.longest};
}

int64_t rounded_up(int64_t length) {
  return (length + kMultiple - 1) / kMultiple * kMultiple;
}

// Words of the average sentence with its mark, as a batch of such would be padded.
int64_t typical(const std::vector<std::vector<int64_t>>& sentences) {
  size_t words = 0;
  for (const auto& sentence : sentences) words += sentence.size() + 1;
  return rounded_up(static_cast<int64_t>(words / sentences.size()));
}

class Translation : public Task {
 public:
  Translation(data::TranslationData data, const SentenceLengths& lengths)
      : source_(std::move(data.source)),
        target_(std::move(data.target)),
        train_(std::make_shared<const data::Sentences>(std::move(data.train))),
        test_(std::make_shared<const data::Sentences>(std::move(data.test))),
        typical_{lengths.source > 0 ? lengths.source : typical(train_->source),
                 lengths.target > 0 ? lengths.target : typical(train_->target)} {}

  models::TaskKind kind() const override { return models::TaskKind::kTranslation; }
  std::string unit() const override { return "sentences"; }
  const std::vector<Figure>& figures() const override {
    static const std::vector<Figure> kFigures{{"accuracy", "accuracy"}, {"bleu", "BLEU", false}};
    return kFigures;
  }
  std::string running_figure() const override { return "accuracy"; }

  void resolve(config::RunConfig& config) const override {
    auto& model = config.model;
    if (model.form == "auto") model.form = models::form_name(models::Form::kImagenet);
    const auto fill = [](int64_t& words, const data::Vocabulary& own, const char* key) {
      if (words == 0) words = own.size();
      if (words < own.size()) {
        throw UsageError(
            core::cat(key, " = ", words, ": the vocabulary of the data has ", own.size()));
      }
    };
    fill(model.transformer.source_words, source_, "model.source_words");
    fill(model.transformer.target_words, target_, "model.target_words");
    model.classes = model.transformer.target_words;
    if (rounded_up(config.translation.longest + 1) > model.transformer.longest) {
      throw UsageError(
          core::cat("model.longest = ", model.transformer.longest,
                    ": sentences of translation.longest = ", config.translation.longest,
                    " words with their mark need ", rounded_up(config.translation.longest + 1)));
    }
  }

  models::Options model_options(const config::RunConfig& config) const override {
    models::Options options;
    options.classes = config.model.classes;
    options.width_divisor = config.model.width_divisor;
    options.transformer = config.model.transformer;
    options.transformer.padding = data::kPadding;
    return options;
  }

  std::string input_name(const config::RunConfig&) const override {
    return core::cat("tokens:", typical_.source, ",", typical_.target);
  }

  int64_t train_size() const override { return train_->size(); }
  int64_t test_size() const override { return test_->size(); }

  std::unique_ptr<data::BatchSource> batches(const config::RunConfig& config, Use use,
                                             at::Device device, const Skips& skips,
                                             const data::Planner&) const override {
    data::SentenceLoaderOptions options;
    options.training = use == Use::kTrain;
    options.batch = options.training ? config.batch : config.eval_batch;
    options.seed = static_cast<uint64_t>(config.seed);
    options.multiple = kMultiple;
    options.workers = config.augment.workers;
    options.skips = skips;
    options.device = device;
    return std::make_unique<data::SentenceLoader>(use == Use::kTest ? test_ : train_, options);
  }

  data::Batch example(const config::RunConfig&, int64_t count, at::Device device) const override {
    const auto words = [&](const data::Vocabulary& vocabulary, int64_t length) {
      return at::randint(data::kEnd, vocabulary.size(), {count, length},
                         at::TensorOptions(device).dtype(at::kLong));
    };
    data::Batch batch;
    batch.inputs = {words(source_, typical_.source), words(target_, typical_.target)};
    batch.targets = {words(target_, typical_.target)};
    return batch;
  }

  // The mean over words; what fills up a sentence counts neither here nor in the tally.
  Loss loss(const config::RunConfig& config, RunningMetrics& tally, const models::Tensors& outputs,
            const data::Tensors& targets, const LossRequest& request) const override {
    const at::Tensor& logits = outputs.at(0);  // [B, T, V]
    const at::Tensor scores = logits.flatten(0, 1).to(
        logits.scalar_type() == at::kBFloat16 ? at::kFloat : logits.scalar_type());
    const at::Tensor words = targets.at(0).flatten();
    Loss out;
    out.value = at::cross_entropy_loss(scores, words, {}, at::Reduction::Mean, data::kPadding,
                                       request.training ? config.label_smoothing : 0.0);
    const at::NoGradGuard no_grad;
    const at::Tensor counted = words.ne(data::kPadding);
    const at::Tensor right = scores.detach().argmax(1).eq(words).logical_and_(counted);
    const at::Tensor count = counted.sum().to(at::kDouble);
    tally.add_sums(at::stack({out.value.detach().to(at::kDouble) * count,
                              right.sum().to(at::kDouble), at::zeros_like(count), count}));
    return out;
  }

  Evaluation evaluate(const EvaluatedNet& net, data::BatchSource& source,
                      const EvaluationRequest& request) const override {
    const Seen seen = net.forward_all(source, {});
    Evaluation out;
    out.loss = seen.tally.loss();
    out.figures["accuracy"] = seen.tally.top1();
    out.examples = seen.examples;
    if (request.thorough) add_bleu(net, source, out);
    return out;
  }

  Metadata metadata(const config::RunConfig& config) const override {
    Metadata out = run::transformer_metadata(config.model.transformer);
    out["source_words"] = core::join(source_.words(), " ");
    out["target_words"] = core::join(target_.words(), " ");
    return out;
  }

  void check(const Metadata& metadata, const std::string& file) const override {
    check_words(metadata, "source_words", source_, file);
    check_words(metadata, "target_words", target_, file);
  }

 private:
  static void check_words(const Metadata& metadata, const std::string& key,
                          const data::Vocabulary& own, const std::string& file) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return;
    const auto theirs = core::split(found->second, ' ');
    for (size_t i = 0; i < std::max(theirs.size(), own.words().size()); ++i) {
      const std::string a = i < theirs.size() ? theirs[i] : "nothing";
      const std::string b = i < own.words().size() ? own.words()[i] : "nothing";
      if (a == b) continue;
      throw DataError(core::cat(file, ": ", key, ": word number ", i, " is '", a,
                                "', in this data set '", b,
                                "': the weights belong to another text, direction or "
                                "translation.min_frequency"));
    }
  }

  // Of what the network writes, against the text of the data: words it does not know count as
  // wrong.
  void add_bleu(const EvaluatedNet& evaluated, data::BatchSource& source, Evaluation& out) const {
    auto* net = dynamic_cast<models::Translator*>(&evaluated.net);
    const auto* loader = dynamic_cast<const data::SentenceLoader*>(&source);
    if (net == nullptr || loader == nullptr) return;  // a user's own network may not be able to
    const auto& t = evaluated.config.translation;
    models::SearchOptions search;
    search.beam = t.beam;
    search.length_penalty = t.length_penalty;
    search.begin = data::kBegin;
    search.end = data::kEnd;
    search.never = {data::kUnknown, data::kPadding, data::kBegin};
    metrics::Bleu bleu;
    source.seek(0, 0);
    for (int64_t i = 0; i < source.batches_per_epoch(); ++i) {
      const data::Batch batch = source.next();
      // Long enough for any real translation, short enough to stop one that never ends.
      search.longest = std::min(batch.inputs[0].size(1) * 3 / 2 + 10, t.longest + 1);
      const device::AutocastScope autocast(evaluated.device, evaluated.config.precision == "bf16");
      const auto found = models::translate(*net, batch.inputs[0], search);
      for (size_t b = 0; b < found.size(); ++b) {
        const auto index = static_cast<size_t>(batch.indices[b]);
        bleu.add(target_.text(found[b]), loader->sentences().reference[index]);
      }
    }
    out.figures["bleu"] = bleu.score();
  }

  data::Vocabulary source_, target_;
  std::shared_ptr<const data::Sentences> train_, test_;
  SentenceLengths typical_;
};

}  // namespace

std::shared_ptr<const Task> open_translation(const config::RunConfig& config,
                                             const SentenceLengths& lengths) {
  return std::make_shared<Translation>(
      data::open_translation_data(config.data, text_options(config)), lengths);
}

}  // namespace adagp::task
