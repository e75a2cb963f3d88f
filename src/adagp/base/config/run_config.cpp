#include "adagp/base/config/run_config.h"

#include <cmath>
#include <limits>

#include "adagp/base/config/method_keys.h"
#include "adagp/base/config/other_names.h"
#include "adagp/base/core/duration.h"
#include "adagp/base/core/error.h"
#include "adagp/base/core/threads.h"
#include "adagp/base/schedule/policy.h"
#include "adagp/base/schedule/schedule.h"

namespace adagp::config {
namespace {

// Far above any real run; products with the batches of an epoch stay inside 64 bits.
constexpr int64_t kMostEpochs = 1'000'000'000;
constexpr auto kMostSeed = static_cast<double>(std::numeric_limits<int64_t>::max());

std::vector<MoreKeys>& more_keys() {
  static std::vector<MoreKeys> keys;
  return keys;
}

void bind_run(core::Binding& b, RunConfig& c) {
  b.bind("method", &c.method, "training method: what is done with each batch (adagp list methods)");
  b.bind("schedule", &c.schedule,
         "which batches are BP and which are GP: auto, paper, bp or \"10ep bp, 4ep 4:1, 1:1\"");
  b.bind("head", &c.head,
         "gradient of the classifier in GP batches: predicted, exact, or frozen (no update)")
      .one_of({"predicted", "exact", "frozen"});
  b.bind("epochs", &c.epochs, "passes over the training data").between(1, kMostEpochs);
  b.bind("batch", &c.batch, "images per batch").at_least(1);
  b.bind("eval_batch", &c.eval_batch, "images per batch of an evaluation").at_least(1);
  b.bind("device", &c.device, "where to train: auto, cpu, cuda or cuda:N");
  b.bind("threads", &c.threads, "CPU threads; 0 = all").at_least(0);
  b.bind("precision", &c.precision,
         "number format: fp32; bf16 (on a GPU: bf16 copies of fp32 weights; on a CPU it runs as "
         "fp32)")
      .one_of({"fp32", "bf16"});
  b.bind("seed", &c.seed,
         "seed of the weights, the order of examples, augmentation and the predictor")
      .between(0, kMostSeed);
  b.bind("weights", &c.weights, "safetensors file to start from");
  b.bind("deterministic", &c.deterministic, "equal bits also on a GPU; slower");
  b.bind("graphs", &c.graphs, "on a GPU, record each kind of step once and replay it");
  b.bind("cpu.convolution", &c.cpu.convolution,
         "on a CPU, memory layout in which convolutions are computed: channels-last, or contiguous "
         "(maps are copied there and back)")
      .one_of({"channels-last", "contiguous"});
  b.bind("own_kernels", &c.own_kernels,
         "on a GPU, our own kernels where they fit a convolution: 3x3, depthwise; in bf16 also of "
         "small images, or from 128 channels to 32; false = cuDNN's, for comparisons");
  b.bind("clip", &c.clip, "largest joint norm of the gradients of a BP batch; 0 = no clipping")
      .at_least(0);
  b.bind("accumulate", &c.accumulate, "micro-batches per batch; must divide batch").at_least(1);
  b.bind("label_smoothing", &c.label_smoothing, "label smoothing of the cross-entropy loss")
      .between(0, 1);
  b.bind("loss_limit", &c.loss_limit, "a larger training loss is divergence (exit 4)").at_least(0);
  b.bind("probe_every", &c.probe_every,
         "how often the predictor's quality is measured, in BP batches");
  b.bind("checkpoint_every", &c.checkpoint_every, "time between two checkpoints, as 1ep or 500ba");
  b.bind("log_every", &c.log_every, "time between two progress lines and records, as 50ba");
  b.bind("trace.every", &c.trace.every,
         "every so many whole epochs, as 1ep, write which activations, gradients and weights are "
         "zero into trace/; 0ep = never");
  b.bind("trace.examples", &c.trace.examples, "examples of a batch whose zeros a trace keeps")
      .between(1, 4096);
}

void bind_data(core::Binding& b, RunConfig& c) {
  b.bind("model.name", &c.model.name, "network (adagp list models)");
  b.bind("model.form", &c.model.form,
         "form of the network: cifar, imagenet, or auto (cifar for images up to 32x32)")
      .one_of({"auto", "cifar", "imagenet"});
  b.bind("model.classes", &c.model.classes, "outputs of the network; 0 = the data set's classes")
      .at_least(0);
  b.bind("model.width_divisor", &c.model.width_divisor,
         "every channel count of the network is divided by this")
      .at_least(1);
  b.bind("model.reversible", &c.model.reversible,
         "revnet*, duplex: the backward pass computes activations again; false = they stay in "
         "memory, as in other networks");
  auto& d = c.model.duplex;
  b.bind("model.backbone", &d.backbone,
         "duplex: the classifier that is frozen (adagp list models)");
  b.bind("model.backbone_weights", &c.model.backbone_weights,
         "duplex: safetensors file of a trained backbone; without one its weights are random");
  b.bind("model.branch_blocks", &d.blocks, "duplex: reversible blocks that are trained")
      .between(1, 1024);
  b.bind("model.branch_width", &d.width, "duplex: channels of the branch, both halves together")
      .between(2, 65536);
  b.bind("model.branch_side", &d.side, "duplex: side to which the backbone's maps are pooled")
      .between(1, 1024);
  b.bind("data.name", &c.data.name, "data set (adagp list data)");
  b.bind("data.dir", &c.data.dir, "folder or file of the data set");
  b.bind("data.limit", &c.data.limit, "at most this many training images; 0 = all").at_least(0);
  b.bind("data.test_limit", &c.data.test_limit, "at most this many test images; 0 = all")
      .at_least(0);
  b.bind("data.mean", &c.data.mean,
         "mean of the pixels (0 to 1), one number or three; empty = the data's");
  b.bind("data.std", &c.data.std,
         "standard deviation of the pixels (0 to 1), one number or three; empty = the data's");
  b.bind("data.image_size", &c.data.image_size,
         "side of the images that the network sees; 0 = as in the data")
      .at_least(0);
  b.bind("data.synthetic_train", &c.data.synthetic_train, "generated training images").at_least(1);
  b.bind("data.synthetic_test", &c.data.synthetic_test, "generated test images").at_least(1);
  b.bind("data.synthetic_size", &c.data.synthetic_size, "side of the generated images").at_least(8);
  b.bind("data.synthetic_seed", &c.data.synthetic_seed, "seed of the generated images")
      .between(0, kMostSeed);
  b.bind("data.synthetic_noise", &c.data.synthetic_noise,
         "noise in the generated images; more is harder to learn")
      .between(0, data::kMostNoise);
  b.bind("augment.crop", &c.augment.crop,
         "crop of training images: pad (reflect and crop), resized (random-resized-crop), none or "
         "auto")
      .one_of({"auto", "pad", "resized", "none"});
  b.bind("augment.pad", &c.augment.pad, "pixels of padding before the random crop").at_least(0);
  b.bind("augment.flip", &c.augment.flip, "mirror half of the training images");
  b.bind("augment.workers", &c.augment.workers, "threads that prepare batches on the CPU")
      .at_least(0);
}

void bind_detection(core::Binding& b, RunConfig& c) {
  b.bind("data.voc_train", &c.data.voc_train,
         "voc: sets to train on, as [\"2007/trainval\"]; empty = trainval of 2007 and 2012");
  b.bind("data.voc_test", &c.data.voc_test, "voc: sets to test on; empty = 2007/test");
  b.bind("data.bad_boxes", &c.data.bad_boxes,
         "voc: skip or refuse boxes that cannot be right, unknown classes, empty annotations")
      .one_of({"skip", "refuse"});
  auto& d = c.detection;
  b.bind(
      "detection.anchors", &d.anchors,
      "18 numbers: width and height of nine boxes in pixels; empty = the published ones, scaled");
  b.bind("detection.ignore", &d.ignore,
         "an empty cell whose box overlaps an object by more than this (IoU) does not learn that "
         "it is empty")
      .between(0, 1);
  b.bind("detection.confidence", &d.confidence,
         "evaluation: answers less sure than this are left out")
      .between(0, 1);
  b.bind("detection.nms", &d.nms,
         "evaluation: of answers that overlap by more than this (IoU), only the surest stays")
      .between(0, 1);
  b.bind("detection.scale", &d.scale,
         "training: pictures are enlarged or reduced by up to a factor of 1 + this")
      .at_least(0);
  b.bind("detection.shift", &d.shift,
         "training: pictures are moved by up to this share of their side")
      .between(0, 1);
}

void bind_translation(core::Binding& b, RunConfig& c) {
  auto& m = c.model.transformer;
  b.bind("model.width", &m.width, "transformer: numbers per word").at_least(1);
  b.bind("model.heads", &m.heads, "transformer: attention heads; must divide the width")
      .at_least(1);
  b.bind("model.hidden", &m.hidden, "transformer: width of the feed-forward layers").at_least(1);
  b.bind("model.encoder_layers", &m.encoder_layers, "transformer: layers of the encoder")
      .at_least(1);
  b.bind("model.decoder_layers", &m.decoder_layers, "transformer: layers of the decoder")
      .at_least(1);
  b.bind("model.longest", &m.longest,
         "transformer: positions of a sentence; must be more than translation.longest")
      .at_least(1);
  b.bind("model.dropout", &m.dropout, "transformer: share of activations dropped").between(0, 1);
  b.bind("model.tied", &m.tied, "transformer: output layer and target embedding share weights");
  b.bind("model.source_words", &m.source_words,
         "transformer: words of the source vocabulary; 0 = the data's")
      .at_least(0);
  b.bind("model.target_words", &m.target_words,
         "transformer: words of the target vocabulary; 0 = the data's")
      .at_least(0);
  auto& t = c.translation;
  b.bind("translation.source", &t.source, "language that is read: ending of the file names");
  b.bind("translation.target", &t.target, "language that is written");
  b.bind("translation.test", &t.test, "files to evaluate on: val, test_2016_flickr, ...");
  b.bind("translation.min_frequency", &t.min_frequency,
         "words that are rarer in the training text count as unknown")
      .at_least(1);
  b.bind("translation.longest", &t.longest,
         "most words of a sentence; longer training pairs are left out")
      .at_least(1);
  b.bind("translation.beam", &t.beam, "hypotheses per sentence for BLEU; 1 = greedy").at_least(1);
  b.bind("translation.length_penalty", &t.length_penalty,
         "hypotheses are compared by log-probability / length^this")
      .at_least(0);
}

void bind_optim(core::Binding& b, RunConfig& c) {
  b.bind("optim.name", &c.optim.name, "optimizer: sgd, adam or adamw")
      .one_of({"sgd", "adam", "adamw"});
  b.bind("optim.lr", &c.optim.lr, "learning rate; the largest one of the policy").between(0, 1e30);
  b.bind("optim.momentum", &c.optim.momentum, "momentum of SGD").between(0, 1);
  b.bind("optim.nesterov", &c.optim.nesterov, "SGD with Nesterov's momentum");
  b.bind("optim.decay", &c.optim.decay, "weight decay").at_least(0);
  b.bind("optim.decay_norm_bias", &c.optim.decay_norm_bias,
         "weight decay also for norm weights and biases");
  b.bind("optim.beta1", &c.optim.beta1, "Adam: decay of the mean gradient").between(0, 1);
  b.bind("optim.beta2", &c.optim.beta2, "Adam: decay of the mean squared gradient").between(0, 1);
  b.bind("optim.eps", &c.optim.eps, "Adam: added to the denominator").at_least(0);
  b.bind("policy.name", &c.policy.name,
         "learning-rate policy: how the rate moves with the examples seen")
      .one_of(schedule::policy_names());
  b.bind("policy.peak", &c.policy.peak,
         "policies triangle, one-cycle: share of the run in which the rate rises")
      .between(0, 1);
  b.bind("policy.every", &c.policy.every, "policy step: time between two changes of the rate");
  b.bind("policy.gamma", &c.policy.gamma,
         "policies step, multi-step: factor of each change of the rate")
      .at_least(0);
  b.bind("policy.milestones", &c.policy.milestones,
         "policy multi-step: durations after which the rate changes");
  b.bind("policy.floor", &c.policy.floor, "policy cosine: final rate").at_least(0);
  b.bind("policy.div", &c.policy.div, "policy one-cycle: first rate = lr / div").at_least(1);
  b.bind("policy.warmup", &c.policy.warmup,
         "policies inverse-sqrt, constant, cosine, step, multi-step: time of the linear warm-up");
  b.bind("policy.factor", &c.policy.factor, "policy plateau: factor by which the rate is cut")
      .between(0, 1);
  b.bind("policy.patience", &c.policy.patience,
         "policy plateau: epochs without progress before a cut of the rate")
      .at_least(0);
  b.bind("policy.threshold", &c.policy.threshold, "policy plateau: relative progress that counts")
      .at_least(0);
  b.bind("policy.watch", &c.policy.watch,
         "policy plateau: loss that must fall: test, train (mean over the epoch's batches) or "
         "held-out (a twentieth of the training images, at least a batch, drawn by the seed; they "
         "are not trained on)")
      .one_of({"test", "train", "held-out"});
}

// Run folders of earlier versions have them.
void add_gone_keys(core::Binding& b) {
  b.gone("policy.cooldown", "0");
  b.gone("policy.min_lr", "0.0");
  b.gone("policy.final_div", "10000.0");
  b.gone("predictor.rms_decay", "0.95");
}

// Keys that change nothing unless another key has one of some values. "method" is each part of a
// joined method, and what it does: with GP batches by the schedule (scheduled), with the predictor
// (predicts); "task" is that of the network.
void add_conditions(core::Binding& b) {
  b.when("schedule", "method", "scheduled");
  b.when("predictor.", "method", "predicts");
  b.when("head probe_every", "method", "adagp wrong-input zero ema");
  b.when("ema.", "method", "ema");
  b.when("small_batch.", "method", "small-batch");
  b.when("equal_time.", "method", "equal-time");
  b.when("freeze.", "method", "freeze");
  b.when("low_res.sizes low_res.scale_batch low_res.scale_lr", "method", "progressive low-res");
  b.when("low_res.shares", "method", "progressive");
  b.when("low_res.move_statistics", "method", "low-res");
  b.when("select.", "method", "stored-loss infobatch");
  b.when("stored_loss.", "method", "stored-loss");
  b.when("infobatch.", "method", "infobatch");
  b.when("predictor.channels predictor.pooled", "predictor.kind", "shared");
  b.when("predictor.summary predictor.input", "predictor.kind", "shared");
  b.when("predictor.target predictor.lr predictor.milestones predictor.gamma", "predictor.kind",
         "shared");
  b.when("policy.peak", "policy.name", "triangle one-cycle");
  b.when("policy.every", "policy.name", "step");
  b.when("policy.gamma", "policy.name", "step multi-step");
  b.when("policy.milestones", "policy.name", "multi-step");
  b.when("policy.floor", "policy.name", "cosine");
  b.when("policy.div", "policy.name", "one-cycle");
  b.when("policy.warmup", "policy.name", "inverse-sqrt constant cosine step multi-step");
  b.when("policy.factor policy.patience policy.threshold policy.watch", "policy.name", "plateau");
  b.when("optim.momentum optim.nesterov", "optim.name", "sgd");
  b.when("optim.beta1 optim.beta2 optim.eps", "optim.name", "adam adamw");
  b.when(
      "model.backbone model.backbone_weights model.branch_blocks model.branch_width "
      "model.branch_side",
      "model.name", "duplex");
  b.when("model.reversible", "model.name", "revnet44 revnet108 revnet18s duplex");
  b.when("detection.", "task", "detection");
  b.when(
      "translation. model.width model.heads model.hidden model.encoder_layers model.decoder_layers "
      "model.longest model.dropout model.tied model.source_words model.target_words",
      "task", "translation");
  b.when("data.mean data.std data.image_size augment.flip model.form", "task",
         "classification detection");
  b.when("cpu.convolution", "task", "classification detection");
  b.when("augment.crop augment.pad", "task", "classification");
  b.when("augment.pad", "augment.crop", "auto pad");
  b.when("label_smoothing", "task", "classification translation");
  b.when("data.voc_train data.voc_test data.bad_boxes", "data.name", "voc");
  b.when("data.synthetic_size", "data.name", "synthetic");
  b.when("data.synthetic_noise", "data.name", "synthetic synthetic-detection");
  b.when("data.synthetic_train data.synthetic_test data.synthetic_seed", "data.name",
         "synthetic synthetic-detection synthetic-translation");
  b.when("data.dir", "data.name",
         "cifar10 cifar100 image-folder packed voc multi30k parallel-text");
}

}  // namespace

void bind(core::Binding& binding, RunConfig& config) {
  bind_run(binding, config);
  bind_data(binding, config);
  bind_detection(binding, config);
  bind_translation(binding, config);
  bind_optim(binding, config);
  bind_methods(binding, config);
  add_conditions(binding);
  add_gone_keys(binding);
  add_other_names(binding);
  for (const MoreKeys& more : more_keys()) more.bind(binding, config);
}

void add_keys(const MoreKeys& keys) {
  more_keys().push_back(keys);
}

void validate(const RunConfig& config) {
  if (config.epochs < 1 || config.epochs > kMostEpochs) {
    throw UsageError("epochs = " + std::to_string(config.epochs) + ": expected 1 to " +
                     std::to_string(kMostEpochs));
  }
  schedule::Schedule::parse(config.schedule, config.epochs);
  for (const auto* text : {&config.probe_every, &config.checkpoint_every, &config.log_every}) {
    core::Duration::parse(*text);
  }
  const core::Duration trace = core::Duration::parse(config.trace.every);
  if (trace.value != std::floor(trace.value) ||
      (trace.unit == core::Duration::Unit::kBatches && trace.value != 0)) {
    throw UsageError("trace.every = " + config.trace.every +
                     ": expected whole epochs, as 1ep or 5ep; 0ep writes no traces");
  }
  if (config.batch % config.accumulate != 0) {
    throw UsageError("accumulate = " + std::to_string(config.accumulate) +
                     ": does not divide batch = " + std::to_string(config.batch) +
                     "; micro-batches are equal parts of a batch");
  }
  core::check_thread_count("threads", config.threads);
  core::check_thread_count("augment.workers", config.augment.workers);
  schedule::make_policy(config.policy, config.optim.lr, 1000, 10);
  for (const MoreKeys& more : more_keys()) more.validate(config);
}

void validate_alone(const RunConfig& config) {
  for (const MoreKeys& more : more_keys()) more.validate_alone(config);
}

const std::vector<std::string>& cosmetic_keys() {
  static const std::vector<std::string> keys{"log_every", "checkpoint_every", "augment.workers",
                                             "trace.every", "trace.examples"};
  return keys;
}

}  // namespace adagp::config
