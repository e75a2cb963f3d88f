#include "adagp/base/config/run_config.h"

#include <cmath>
#include <limits>

#include "adagp/base/config/method_keys.h"
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

void bind_run(core::Binding& b, RunConfig& c) {
  b.bind("method", &c.method, "what is done with the batches (adagp list methods)");
  b.bind("schedule", &c.schedule,
         "BP and GP batches: auto, paper, bp or \"10ep bp, 4ep 4:1, 1:1\"");
  b.bind("head", &c.head, "the classifier in GP batches: predicted, exact or frozen")
      .one_of({"predicted", "exact", "frozen"});
  b.bind("epochs", &c.epochs, "passes over the training data").between(1, kMostEpochs);
  b.bind("batch", &c.batch, "images per batch").at_least(1);
  b.bind("eval_batch", &c.eval_batch, "images per batch of an evaluation").at_least(1);
  b.bind("device", &c.device, "auto, cpu, cuda or cuda:N");
  b.bind("threads", &c.threads, "CPU threads; 0 = all").at_least(0);
  b.bind("precision", &c.precision,
         "fp32, or on a GPU bf16: copies of the weights, fp32 masters; on a CPU fp32; or fast: "
         "products in block floating point, fp32 masters")
      .one_of({"fp32", "bf16", "fast"});
  b.bind("edram.error", &c.edram.error,
         "share of the activations kept for the backward pass that has one wrong mantissa bit, as "
         "after a missed refresh; 0 = none")
      .between(0, 1);
  b.bind("seed", &c.seed, "of weights, order, augmentation and predictor").between(0, kMostSeed);
  b.bind("weights", &c.weights, "safetensors file to start from");
  b.bind("deterministic", &c.deterministic, "equal bits on a GPU too, slower");
  b.bind("graphs", &c.graphs, "on a GPU, record each kind of step once and replay it");
  b.bind("cpu.convolution", &c.cpu.convolution,
         "on a CPU, memory layout in which convolutions are computed: channels-last, contiguous "
         "(with copies there and back), or measured: the faster one for each shape and product, "
         "kept for this machine and in the run folder")
      .one_of({"channels-last", "contiguous", "measured"});
  b.bind("depthwise_kernels", &c.depthwise_kernels,
         "on a GPU, our own kernels for 3x3 depthwise convolutions instead of cuDNN's");
  b.bind("image_conv_kernels", &c.image_conv_kernels,
         "on a GPU in bf16, our own kernels for the first convolution of small images instead of "
         "cuDNN's");
  b.bind("narrow_conv_kernels", &c.narrow_conv_kernels,
         "on a GPU in bf16, our own kernels for 3x3 convolutions from 128 channels to 32 "
         "(DenseNet's) instead of cuDNN's");
  b.bind("clip", &c.clip, "largest joint norm of the gradients of a BP batch; 0 = no clipping")
      .at_least(0);
  b.bind("accumulate", &c.accumulate, "micro-batches per batch; must divide batch").at_least(1);
  b.bind("label_smoothing", &c.label_smoothing, "of the cross-entropy").between(0, 1);
  b.bind("loss_limit", &c.loss_limit, "a larger training loss is divergence (exit 4)").at_least(0);
  b.bind("probe_every", &c.probe_every,
         "how often the predictor's quality is measured, in BP batches");
  b.bind("checkpoint_every", &c.checkpoint_every, "distance of checkpoints");
  b.bind("log_every", &c.log_every, "distance of progress lines and records");
  b.bind("trace.every", &c.trace.every,
         "write the zeros of activations, gradients and weights into trace/ every so many whole "
         "epochs, as 1ep; 0ep = never");
  b.bind("trace.examples", &c.trace.examples, "examples of a batch whose zeros a trace keeps")
      .between(1, 4096);
}

void bind_fast(core::Binding& b, RunConfig& c) {
  b.bind("fast.rule", &c.fast.rule,
         "precision fast: mantissa bits by tensor: adaptive (2 or 4), fixed, or fast.mantissa in "
         "one half of the run (temporal) or of the layers (layerwise) and fp32 in the other")
      .one_of({"adaptive", "fixed", "temporal-low-to-high", "temporal-high-to-low",
               "layerwise-low-to-high", "layerwise-high-to-low"});
  b.bind("fast.mantissa", &c.fast.mantissa,
         "bits of a mantissa without its sign, all rules but "
         "adaptive")
      .between(1, 24);
  b.bind("fast.alpha", &c.fast.alpha,
         "adaptive: a tensor has 4 bits where 2 lose at least alpha - beta * (share of the run) - "
         "beta * (layer / layers)");
  b.bind("fast.beta", &c.fast.beta, "likewise").at_least(0);
  b.bind("fast.every", &c.fast.every,
         "adaptive: batches between two decisions, each of which costs "
         "one more step");
  b.bind("fast.rounding", &c.fast.rounding,
         "stochastic (gradients by 8 random bits, others to nearest), nearest or truncate")
      .one_of({"stochastic", "nearest", "truncate"});
  b.bind("fast.exponent_bits", &c.fast.exponent_bits,
         "of a group's exponent; fewer than 8 count down from the tensor's largest exponent")
      .between(1, 8);
  b.bind("fast.regroup", &c.fast.regroup,
         "groups along what each product sums over; false = along the channels for all");
}

void bind_data(core::Binding& b, RunConfig& c) {
  b.bind("model.name", &c.model.name, "network (adagp list models)");
  b.bind("model.form", &c.model.form, "cifar, imagenet, or auto: cifar for images up to 32x32")
      .one_of({"auto", "cifar", "imagenet"});
  b.bind("model.classes", &c.model.classes, "outputs; 0 = the data set's classes").at_least(0);
  b.bind("model.width_divisor", &c.model.width_divisor, "every channel count divided by this")
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
  b.bind("data.dir", &c.data.dir, "its folder or file");
  b.bind("data.limit", &c.data.limit, "at most this many training images; 0 = all").at_least(0);
  b.bind("data.test_limit", &c.data.test_limit, "at most this many test images; 0 = all")
      .at_least(0);
  b.bind("data.mean", &c.data.mean,
         "of the pixels in 0..1, one number or three; empty = the data's");
  b.bind("data.std", &c.data.std, "likewise");
  b.bind("data.image_size", &c.data.image_size, "side of what the network sees; 0 = the images'")
      .at_least(0);
  b.bind("data.synthetic_train", &c.data.synthetic_train, "generated training images").at_least(1);
  b.bind("data.synthetic_test", &c.data.synthetic_test, "generated test images").at_least(1);
  b.bind("data.synthetic_size", &c.data.synthetic_size, "their side").at_least(8);
  b.bind("data.synthetic_seed", &c.data.synthetic_seed, "which images are generated")
      .between(0, kMostSeed);
  b.bind("data.synthetic_noise", &c.data.synthetic_noise, "difficulty; 1 is the default world")
      .between(0, data::kMostNoise);
  b.bind("augment.crop", &c.augment.crop,
         "pad (reflect and crop), resized (random-resized-crop), none, auto")
      .one_of({"auto", "pad", "resized", "none"});
  b.bind("augment.pad", &c.augment.pad, "pixels of padding before the random crop").at_least(0);
  b.bind("augment.flip", &c.augment.flip, "mirror half of the images");
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
         "an empty cell whose box overlaps an object by more (IoU) is not told to be empty")
      .between(0, 1);
  b.bind("detection.confidence", &d.confidence, "evaluation: answers less sure are left out")
      .between(0, 1);
  b.bind("detection.nms", &d.nms, "evaluation: of answers that overlap by more, the surest stays")
      .between(0, 1);
  b.bind("detection.scale", &d.scale,
         "training: pictures enlarged or reduced by up to a factor of 1 + this")
      .at_least(0);
  b.bind("detection.shift", &d.shift, "training: and moved by up to this share of their side")
      .between(0, 1);
}

void bind_translation(core::Binding& b, RunConfig& c) {
  auto& m = c.model.transformer;
  b.bind("model.width", &m.width, "transformer: numbers per word").at_least(1);
  b.bind("model.heads", &m.heads, "transformer: attention heads; must divide the width")
      .at_least(1);
  b.bind("model.hidden", &m.hidden, "transformer: width of the feed-forward layers").at_least(1);
  b.bind("model.encoder_layers", &m.encoder_layers, "transformer").at_least(1);
  b.bind("model.decoder_layers", &m.decoder_layers, "transformer").at_least(1);
  b.bind("model.longest", &m.longest, "transformer: positions; more than translation.longest")
      .at_least(1);
  b.bind("model.dropout", &m.dropout, "transformer: share of activations dropped").between(0, 1);
  b.bind("model.tied", &m.tied, "transformer: output layer and target embedding share weights");
  b.bind("model.source_words", &m.source_words, "transformer: vocabulary; 0 = the data's")
      .at_least(0);
  b.bind("model.target_words", &m.target_words, "likewise").at_least(0);
  auto& t = c.translation;
  b.bind("translation.source", &t.source, "language that is read: ending of the file names");
  b.bind("translation.target", &t.target, "language that is written");
  b.bind("translation.test", &t.test, "files to evaluate on: val, test_2016_flickr, ...");
  b.bind("translation.min_frequency", &t.min_frequency,
         "rarer words of the training text are unknown ones")
      .at_least(1);
  b.bind("translation.longest", &t.longest,
         "words of a sentence; longer training pairs are left out")
      .at_least(1);
  b.bind("translation.beam", &t.beam, "hypotheses per sentence for BLEU; 1 = greedy").at_least(1);
  b.bind("translation.length_penalty", &t.length_penalty,
         "hypotheses are compared by log-probability / length^this")
      .at_least(0);
}

void bind_optim(core::Binding& b, RunConfig& c) {
  b.bind("optim.name", &c.optim.name, "sgd, adam or adamw").one_of({"sgd", "adam", "adamw"});
  b.bind("optim.lr", &c.optim.lr, "learning rate (the policy's largest)").between(0, 1e30);
  b.bind("optim.momentum", &c.optim.momentum, "of sgd").between(0, 1);
  b.bind("optim.nesterov", &c.optim.nesterov, "Nesterov's momentum");
  b.bind("optim.decay", &c.optim.decay, "weight decay").at_least(0);
  b.bind("optim.decay_norm_bias", &c.optim.decay_norm_bias, "decay norm weights and biases too");
  b.bind("optim.beta1", &c.optim.beta1, "of adam").between(0, 1);
  b.bind("optim.beta2", &c.optim.beta2, "of adam").between(0, 1);
  b.bind("optim.eps", &c.optim.eps, "of adam").at_least(0);
  b.bind("policy.name", &c.policy.name, "how the learning rate moves with the examples seen")
      .one_of(schedule::policy_names());
  b.bind("policy.peak", &c.policy.peak, "triangle, one-cycle: share of the run spent rising")
      .between(0, 1);
  b.bind("policy.every", &c.policy.every, "step: length of a stair");
  b.bind("policy.gamma", &c.policy.gamma, "step, multi-step: factor at a stair").at_least(0);
  b.bind("policy.milestones", &c.policy.milestones, "multi-step: list of durations");
  b.bind("policy.floor", &c.policy.floor, "cosine: final rate").at_least(0);
  b.bind("policy.div", &c.policy.div, "one-cycle: first rate = lr / div").at_least(1);
  b.bind("policy.final_div", &c.policy.final_div, "one-cycle: last rate = first / final_div")
      .at_least(1);
  b.bind("policy.warmup", &c.policy.warmup,
         "linear warm-up (inverse-sqrt, constant, cosine, step, multi-step)");
  b.bind("policy.factor", &c.policy.factor, "plateau: factor").between(0, 1);
  b.bind("policy.patience", &c.policy.patience, "plateau: epochs without progress").at_least(0);
  b.bind("policy.threshold", &c.policy.threshold, "plateau: relative progress that counts")
      .at_least(0);
  b.bind("policy.cooldown", &c.policy.cooldown, "plateau: epochs of rest after a cut").at_least(0);
  b.bind("policy.min_lr", &c.policy.min_lr, "plateau: smallest rate").at_least(0);
}

}  // namespace

void bind(core::Binding& binding, RunConfig& config) {
  bind_run(binding, config);
  bind_fast(binding, config);
  bind_data(binding, config);
  bind_detection(binding, config);
  bind_translation(binding, config);
  bind_optim(binding, config);
  bind_methods(binding, config);
}

void validate(const RunConfig& config) {
  if (config.epochs < 1 || config.epochs > kMostEpochs) {
    throw UsageError("epochs = " + std::to_string(config.epochs) + ": expected 1 to " +
                     std::to_string(kMostEpochs));
  }
  schedule::Schedule::parse(config.schedule, config.epochs);
  for (const auto* text : {&config.probe_every, &config.checkpoint_every, &config.log_every,
                           &config.dropback.freeze}) {
    core::Duration::parse(*text);
  }
  const core::Duration trace = core::Duration::parse(config.trace.every);
  if (trace.value != std::floor(trace.value) ||
      (trace.unit == core::Duration::Unit::kBatches && trace.value != 0)) {
    throw UsageError("trace.every = " + config.trace.every +
                     ": expected whole epochs, as 1ep or 5ep; 0ep writes no traces");
  }
  const core::Duration every = core::Duration::parse(config.fast.every);
  if (every.unit != core::Duration::Unit::kBatches || every.value < 1 ||
      every.value != std::floor(every.value)) {
    throw UsageError("fast.every = " + config.fast.every +
                     ": expected a whole number of batches, as 100ba");
  }
  if (config.batch % config.accumulate != 0) {
    throw UsageError("accumulate = " + std::to_string(config.accumulate) +
                     ": does not divide batch = " + std::to_string(config.batch) +
                     "; micro-batches are equal parts of a batch");
  }
  core::check_thread_count("threads", config.threads);
  core::check_thread_count("augment.workers", config.augment.workers);
  schedule::make_policy(config.policy, config.optim.lr, 1000, 10);
}

const std::vector<std::string>& cosmetic_keys() {
  static const std::vector<std::string> keys{"log_every", "checkpoint_every", "augment.workers",
                                             "trace.every", "trace.examples"};
  return keys;
}

}  // namespace adagp::config
