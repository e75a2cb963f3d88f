#include "adagp/config/run_config.h"

#include <cmath>

#include "adagp/core/duration.h"
#include "adagp/core/error.h"
#include "adagp/schedule/policy.h"
#include "adagp/schedule/schedule.h"

namespace adagp::config {
namespace {

// Far above any real run; products with the batches of an epoch stay inside 64 bits.
constexpr int64_t kMostEpochs = 1'000'000'000;
constexpr int64_t kMostBatches = 1'000'000'000'000'000;

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
  b.bind("seed", &c.seed, "of weights, order, augmentation and predictor").at_least(0);
  b.bind("weights", &c.weights, "safetensors file to start from");
  b.bind("deterministic", &c.deterministic, "equal bits on a GPU too, slower");
  b.bind("graphs", &c.graphs, "on a GPU, record each kind of step once and replay it");
  b.bind("depthwise_kernels", &c.depthwise_kernels,
         "on a GPU, our own kernels for 3x3 depthwise convolutions instead of cuDNN's");
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
  b.bind("data.synthetic_seed", &c.data.synthetic_seed, "which images are generated").at_least(0);
  b.bind("data.synthetic_noise", &c.data.synthetic_noise, "difficulty; 1 is the default world")
      .at_least(0);
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

void bind_methods(core::Binding& b, RunConfig& c) {
  b.bind("predictor.kind", &c.predictor.kind, "how gradients are made (adagp list predictors)");
  b.bind("predictor.summary", &c.predictor.summary, "side of the pooled activation").between(1, 64);
  b.bind("predictor.target", &c.predictor.target, "rms (gradient / running RMS) or raw")
      .one_of({"rms", "raw"});
  b.bind("predictor.rms_decay", &c.predictor.rms_decay, "of the running RMS").between(0, 1);
  b.bind("predictor.lr", &c.predictor.lr, "Adam's rate").at_least(0);
  b.bind("predictor.milestones", &c.predictor.milestones, "durations, counted in BP batches");
  b.bind("predictor.gamma", &c.predictor.gamma, "factor at a milestone").at_least(0);
  b.bind("predictor.channels", &c.predictor.channels, "shared: channels of its convolution")
      .at_least(1);
  b.bind("predictor.pooled", &c.predictor.pooled, "shared: side before its FC").between(1, 64);
  b.bind("predictor.input", &c.predictor.input,
         "shared, mlp, remap: what it sees of a batch: activations, or as an ablation zeros, noise "
         "or labels")
      .one_of({"activations", "zeros", "noise", "labels"});
  b.bind("predictor.mlp_hidden", &c.predictor.mlp_hidden, "mlp: width of its hidden layer")
      .between(1, 65536);
  b.bind("predictor.remap_channels", &c.predictor.remap_channels, "remap: channels").at_least(1);
  b.bind("predictor.remap_outputs", &c.predictor.remap_outputs, "remap: length of its vector")
      .at_least(1);
  b.bind("predictor.tail", &c.predictor.tail, "remap: end of a long gradient: last or cyclic")
      .one_of({"last", "cyclic"});
  b.bind("predictor.forget", &c.predictor.forget,
         "dfa, dfa-random, vt, head-ridge: what is left of the past after a BP batch")
      .between(0, 1);
  b.bind("predictor.ridge", &c.predictor.ridge,
         "dfa, vt, head-ridge: ridge of the fit, relative to the size of each feature")
      .between(1e-9, 1e9);
  b.bind("predictor.head_features", &c.predictor.head_features,
         "head-ridge: numbers the head's gradient is reduced to")
      .between(1, 4096);
  b.bind("predictor.dni_hidden", &c.predictor.dni_hidden, "dni: hidden width of its networks")
      .at_least(1);
  b.bind("predictor.dni_label", &c.predictor.dni_label, "dni: its networks are told the label");
  b.bind(
      "low_res.sizes", &c.low_res.sizes,
      "sides of smaller images: low-res takes the first, progressive one for each share; empty = "
      "1/2, 3/4 and the whole of the images' own");
  b.bind("low_res.shares", &c.low_res.shares,
         "progressive: share of the epochs that has each size; they add up to 1");
  b.bind("low_res.scale_batch", &c.low_res.scale_batch,
         "batches of smaller images have as many more of them, so that a GPU stays full");
  b.bind("low_res.scale_lr", &c.low_res.scale_lr,
         "the rate of a grown batch is multiplied by its growth to this power")
      .between(0, 1);
  b.bind("low_res.move_statistics", &c.low_res.move_statistics,
         "method low-res: smaller images move the norms' running statistics too");
  b.bind("select.anneal", &c.select_anneal,
         "stored-loss, infobatch: share of the epochs at the end that has all examples")
      .between(0, 1);
  b.bind("stored_loss.power", &c.stored_loss_power,
         "an example is kept with probability (rank of its loss / N) to this power; 0 = all")
      .between(0, 100);
  b.bind("infobatch.prune", &c.infobatch_prune,
         "share of the examples below the mean loss that is left out")
      .between(0, 0.999);
  b.bind("selective.share", &c.selective.share, "share of a GP batch that goes backward")
      .between(0.001, 1);
  b.bind("selective.rule", &c.selective.rule,
         "top (largest losses) or priority (likelier the larger, unbiased)")
      .one_of({"top", "priority"});
  b.bind("partial.blocks", &c.partial_blocks,
         "method partial: blocks at the network's beginning without gradients in GP batches")
      .at_least(0);
  b.bind("freeze.at", &c.freeze.at,
         "method freeze: shares of the epochs after which blocks stop learning");
  b.bind("freeze.blocks", &c.freeze.blocks, "how many blocks at the beginning, for each of them");
  b.bind("modules.count", &c.modules.count,
         "method modules: parts the network is cut into, at borders of its blocks; 1 = backprop")
      .at_least(1);
  b.bind("modules.signal", &c.modules.signal,
         "what a part learns from: auxiliary (a loss of its own: DGL), delayed (older true "
         "gradients: DDG, FDG), replay (the same at today's weights: features replay), critic "
         "(the gradient of a small network at the cut: VFBN, Sobolev training)")
      .one_of({"auxiliary", "delayed", "replay", "critic"});
  b.bind("modules.match", &c.modules.match,
         "critic: what it learns: value (the loss), gradient (of the loss by the activations), or "
         "both")
      .one_of({"value", "gradient", "both"});
  b.bind("modules.unlocked", &c.modules.unlocked,
         "delayed, replay: a part takes the activations of the batch before instead of waiting "
         "(FDG)");
  b.bind("modules.shrink", &c.modules.shrink,
         "delayed, replay: gradients are multiplied by this at each cut (FDG's shrinking)")
      .between(0, 1);
  b.bind("xgrad.factor", &c.xgrad_factor,
         "method xgrad: gradients are taken at w - factor * lr * momentum; 0 = backprop")
      .between(0, 10);
  b.bind("dropback.keep", &c.dropback.keep,
         "method dropback: share of the layers' weights that may differ from their fading first "
         "values; 1 = backprop")
      .between(0, 1);
  b.bind("dropback.init_decay", &c.dropback.init_decay,
         "the first values are multiplied by this in each step; 1 = they stay (DropBack), 0.9 = "
         "they fade to zero (Procrustes)")
      .between(0, 1);
  b.bind("dropback.threshold", &c.dropback.threshold,
         "exact (the largest distances, as sorted) or estimate (a running quantile)")
      .one_of({"exact", "estimate"});
  b.bind("dropback.freeze", &c.dropback.freeze,
         "after this long the same weights stay to the end; 0ep = never");
  b.bind("compress.kind", &c.compress.kind,
         "--parallel data: what copies exchange of a gradient: none (all of it), top-k, power-sgd "
         "or sign, each with error feedback")
      .one_of({"none", "top-k", "power-sgd", "sign"});
  b.bind("compress.share", &c.compress.share, "top-k: share of a tensor's numbers that is sent")
      .between(0, 1);
  b.bind("compress.rank", &c.compress.rank, "power-sgd: rank of the matrices that are sent")
      .between(1, 4096);
  b.bind("control_variate.share", &c.control_variate,
         "method control-variate: share of a GP batch that goes backward; 1/2, 1/3, 1/4, ...")
      .between(0, 1);
  auto& a = c.automatic;
  b.bind("auto.steps", &a.steps, "cheap steps that method auto may use: names of methods");
  b.bind("auto.heldout", &a.heldout, "training examples kept out to measure progress on")
      .at_least(1);
  b.bind("auto.window", &a.window, "batches between two measurements").at_least(1);
  b.bind("auto.pairs", &a.pairs, "windows of a candidate, each beside one of backprop, in a trial")
      .at_least(3);
  b.bind("auto.most", &a.most, "most cheap batches for one exact batch").at_least(1);
  b.bind("auto.confidence", &a.confidence, "of the lower bound that must be above backprop")
      .between(0.5, 0.9999);
  b.bind("auto.probe_share", &a.probe_share,
         "at most this share of the batches is spent on trials that come to nothing")
      .between(0, 1);
  b.bind("auto.clock", &a.clock,
         "measured: seconds; counted: multiplications, the same on every machine")
      .one_of({"measured", "counted"});
  b.bind("ema.decay", &c.ema_decay, "method ema: decay of the running mean gradient").between(0, 1);
  b.bind("small_batch.share", &c.small_batch,
         "method small-batch: share of a GP batch that is used")
      .between(0, 1);
  b.bind("equal_time.reference", &c.equal_time_reference,
         "run folder whose seconds are the budget");
  b.bind("equal_time.batches", &c.equal_time_batches,
         "the budget in batches; 0 = from the reference")
      .between(0, kMostBatches);
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
  schedule::make_policy(config.policy, config.optim.lr, 1000, 10);
}

const std::vector<std::string>& cosmetic_keys() {
  static const std::vector<std::string> keys{"log_every", "checkpoint_every", "augment.workers",
                                             "trace.every", "trace.examples"};
  return keys;
}

}  // namespace adagp::config
