// Translation from end to end: what the loss counts, whether a network can learn sentences by heart
// and write them down again, and what a GP batch changes.

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "adagp/base/core/error.h"
#include "adagp/engine/data/stream/sentence_loader.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/models/translator.h"
#include "adagp/engine/step/evaluate.h"
#include "adagp/engine/step/exact_step.h"
#include "adagp/engine/train/build.h"
#include "unit/temp_folder.h"
#include "unit/train/small.h"

namespace adagp::task {
namespace {

config::RunConfig words_config() {
  config::RunConfig c;
  c.model.name = "transformer";
  auto& m = c.model.transformer;
  m.width = 32;
  m.heads = 4;
  m.hidden = 64;
  m.encoder_layers = m.decoder_layers = 2;
  m.longest = 48;
  m.dropout = 0;
  c.translation.longest = 40;
  c.translation.min_frequency = 1;
  c.data.name = "synthetic-translation";
  c.data.synthetic_train = 64;
  c.data.synthetic_test = 8;
  c.method = "adagp";
  c.schedule = "1ep bp, 1:1";
  c.epochs = 2;
  c.batch = 8;
  c.eval_batch = 8;
  c.threads = 1;
  c.device = "cpu";
  c.optim.name = "adam";
  c.optim.lr = 2e-3;
  c.optim.beta2 = 0.98;
  c.optim.decay = 0;
  c.policy.name = "constant";
  c.probe_every = "4ba";
  c.log_every = "1ep";
  return c;
}

struct World {
  explicit World(config::RunConfig c) : config(std::move(c)), task(open_task(config)) {
    at::set_num_threads(1);
    task->resolve(config);
    session = step::make_session(config, task, build_net(config, *task));
    session.net->train();
    session.set_lr(config.optim.lr);
    step::add_summaries(session);
    step::add_predictor(session, 8);
    source = task->batches(config, Use::kTrain, at::kCPU);
  }
  config::RunConfig config;
  std::shared_ptr<const Task> task;
  step::Session session;
  std::unique_ptr<data::BatchSource> source;
};

TEST(Translation, CountsWordsAndNotPadding) {
  World w(words_config());
  at::manual_seed(1);
  const int64_t words = w.config.model.classes;
  const at::Tensor logits = at::randn({2, 3, words}, at::kDouble);
  const at::Tensor follows = at::tensor({5, 6, 3, 7, 1, 1}, at::kLong).view({2, 3});
  config::RunConfig c = w.config;
  c.label_smoothing = 0.2;
  double plain = 0, smooth = 0, right = 0;
  for (const auto& [b, t] : {std::pair{0, 0}, {0, 1}, {0, 2}, {1, 0}}) {
    const at::Tensor log_p = at::log_softmax(logits[b][t], 0);
    const auto word = follows[b][t].item<int64_t>();
    plain -= log_p[word].item<double>() / 4;
    smooth -= (0.8 * log_p[word] + 0.2 * log_p.mean()).item<double>() / 4;
    right += log_p.argmax().item<int64_t>() == word ? 1 : 0;
  }
  RunningMetrics tally;
  const Loss test = w.task->loss(c, tally, {logits}, {follows}, {false, false});
  EXPECT_NEAR(test.value.item<double>(), plain, 1e-12);
  const Loss training = w.task->loss(c, tally, {logits}, {follows}, {});
  EXPECT_NEAR(training.value.item<double>(), smooth, 1e-12);
  const auto values = tally.read();
  EXPECT_EQ(values.count, 8);
  EXPECT_EQ(values.first, 2 * right);
  EXPECT_NEAR(values.loss_sum, 4 * (plain + smooth), 1e-12);
}

TEST(Translation, EightSentencesAreLearntByHeartAndWrittenDown) {
  config::RunConfig c = words_config();
  c.data.limit = 8;
  World w(c);
  // When the losses of all words add up to less than ln 2, each right word has a probability above
  // one half, and so has each right sentence: nothing else can be found.
  double all_words = 1;
  for (int step = 0; step < 4000 && all_words > std::log(2.0) / 4; ++step) {
    const data::Batch batch = w.source->next();
    const double words = (batch.targets[0] != data::kPadding).sum().item<double>();
    all_words = words * step::backprop_step(w.session, batch).loss.item<double>();
  }
  ASSERT_LT(all_words, std::log(2.0) / 4);
  for (const int64_t beam : {1, 4}) {
    w.session.config.translation.beam = beam;
    auto in_order = w.task->batches(w.config, Use::kTrainInOrder, at::kCPU);
    const Evaluation e = evaluate(w.session, *in_order);
    EXPECT_EQ(e.examples, 8);
    EXPECT_EQ(e.figures.at("accuracy"), 100);
    EXPECT_NEAR(e.figures.at("bleu"), 100, 1e-9);
    // And word for word.
    auto& net = dynamic_cast<models::Translator&>(*w.session.net);
    in_order->seek(0, 0);
    const data::Batch batch = in_order->next();
    models::SearchOptions search;
    search.beam = beam;
    search.longest = 30;
    const auto found = models::translate(net, batch.inputs[0], search);
    const auto& sentences = dynamic_cast<data::SentenceLoader&>(*in_order).sentences();
    for (size_t b = 0; b < found.size(); ++b) {
      EXPECT_EQ(found[b], sentences.target[static_cast<size_t>(batch.indices[b])]);
    }
  }
  EXPECT_TRUE(w.session.net->is_training());
}

TEST(Translation, AGpBatchChangesWhatCoverageSays) {
  for (const bool tied : {false, true}) {
    for (const char* head : {"predicted", "exact", "frozen"}) {
      config::RunConfig c = words_config();
      c.model.transformer.tied = tied;
      c.head = head;
      World w(c);
      auto method = method::find_method("adagp").make(w.session);
      method->full_step(w.session, w.source->next());  // biases leave zero, the predictor learns
      const auto before = small::copy_of(*w.session.net);
      method->cheap_step(w.session, w.source->next());
      const auto after = small::copy_of(*w.session.net);
      size_t moved = 0;
      for (const auto& entry : layers::coverage(*w.session.net, head)) {
        const bool same = at::equal(before.at(entry.name), after.at(entry.name));
        EXPECT_EQ(same, entry.treatment == "frozen") << entry.name << " is " << entry.treatment;
        moved += same ? 0 : 1;
      }
      // 2 encoder layers of 4 matrices, 2 decoder layers of 6, and the generator.
      const size_t exact = std::string(head) == "exact"       ? 2
                           : std::string(head) == "predicted" ? 1
                                                              : 0;
      EXPECT_EQ(moved, 2U * 4 + 2 * 6 + (tied ? 0 : exact));
    }
  }
}

// The exact head of a GP batch is the head of a BP batch, padding left out of both.
TEST(Translation, ExactHeadIsTheTrueGradient) {
  config::RunConfig c = words_config();
  c.head = "exact";
  c.label_smoothing = 0.1;
  c.optim.name = "sgd";
  c.optim.momentum = 0;
  World by_gp(c), by_bp(c);
  const data::Batch batch = by_gp.source->next();
  method::find_method("adagp").make(by_gp.session)->cheap_step(by_gp.session, batch);
  step::backprop_step(by_bp.session, batch);
  for (const char* name : {"generator.weight", "generator.bias"}) {
    const auto gp = small::copy_of(*by_gp.session.net).at(name);
    const auto bp = small::copy_of(*by_bp.session.net).at(name);
    EXPECT_TRUE(at::allclose(gp, bp, 1e-5, 1e-7)) << name;
  }
}

// Rows of cross-attention are summarised from the sequence they saw.
TEST(Translation, SummariesOfCrossAttentionAreThoseOfItsParts) {
  World w(words_config());
  step::Session& s = w.session;
  s.net->eval();
  const data::Batch batch = w.source->next();
  struct Parts : nn::TapSink {
    void on_output(const nn::WeightLayer&, const at::Tensor&, const at::Tensor&) override {}
    void on_part(const nn::WeightLayer& layer, int64_t first, const at::Tensor&,
                 const at::Tensor& output) override {
      seen.push_back({layer.index(), first, output.detach()});
    }
    struct Part {
      int64_t layer, first;
      at::Tensor output;
    };
    std::vector<Part> seen;
  } parts;
  const at::NoGradGuard no_grad;
  s.summaries->begin();
  for (nn::TapSink* sink :
       {static_cast<nn::TapSink*>(&parts), static_cast<nn::TapSink*>(s.summaries.get())}) {
    const nn::TapScope taps(*sink);
    s.net->run(batch.inputs);
  }
  s.summaries->end();
  ASSERT_EQ(parts.seen.size(), 4U);  // queries, and keys with values, of two decoder layers
  for (const auto& part : parts.seen) {
    const at::Tensor rows = s.summaries->rows(static_cast<size_t>(part.layer))
                                .narrow(0, part.first, part.output.size(2));
    const at::Tensor expected = at::adaptive_avg_pool1d(part.output.mean(0).t(), 8)  // [C, 8]
                                    .unsqueeze(2)
                                    .expand({-1, 8, 8})
                                    .flatten(1);
    EXPECT_TRUE(at::allclose(rows, expected, 1e-4, 1e-5));
  }
}

TEST(Translation, TrainsInARunFolder) {
  const adagp::testing::TempFolder folder;
  const config::RunConfig c = words_config();
  const report::Summary summary = train::train(c, folder / "run");
  EXPECT_TRUE(summary.figures.contains("bleu"));
  EXPECT_GT(summary.figures.at("accuracy"), 5);
}

TEST(Translation, RefusesWhatCannotBe) {
  config::RunConfig c = words_config();
  c.translation.longest = 48;  // 49 with its mark, padded to 56: over model.longest
  EXPECT_THROW(World{c}, UsageError);
  c = words_config();
  c.model.transformer.target_words = 10;
  EXPECT_THROW(World{c}, UsageError);
  c = words_config();
  c.data.name = "cifar10";
  EXPECT_THROW(open_task(c), UsageError);
}

}  // namespace
}  // namespace adagp::task
