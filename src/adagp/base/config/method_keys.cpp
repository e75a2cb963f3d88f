#include "adagp/base/config/method_keys.h"

namespace adagp::config {
namespace {

// Far above any real run, and its products stay inside 64 bits.
constexpr int64_t kMostBatches = 1'000'000'000'000'000;

void bind_predictor(core::Binding& b, RunConfig& c) {
  b.bind("predictor.kind", &c.predictor.kind,
         "predictor: how gradients are made (adagp list predictors)");
  b.bind("predictor.summary", &c.predictor.summary,
         "side of the pooled activations that the predictor sees")
      .between(1, 64);
  b.bind("predictor.target", &c.predictor.target,
         "what the predictor learns: rms (gradient / running RMS) or raw (gradient)")
      .one_of({"rms", "raw"});
  b.bind("predictor.rms_decay", &c.predictor.rms_decay, "decay of the running RMS of gradients")
      .between(0, 1);
  b.bind("predictor.lr", &c.predictor.lr, "learning rate of the predictor (Adam)").at_least(0);
  b.bind("predictor.milestones", &c.predictor.milestones,
         "durations of the run after which the predictor's rate changes");
  b.bind("predictor.gamma", &c.predictor.gamma, "factor of the predictor's rate at each milestone")
      .at_least(0);
  b.bind("predictor.channels", &c.predictor.channels,
         "predictor shared: channels of its convolution")
      .at_least(1);
  b.bind("predictor.pooled", &c.predictor.pooled,
         "predictor shared: side of its map before the fully connected layer")
      .between(1, 64);
  b.bind("predictor.input", &c.predictor.input,
         "predictors shared, mlp, remap: what they see of a batch: activations, or as an ablation "
         "zeros, noise or labels")
      .one_of({"activations", "zeros", "noise", "labels"});
  b.bind("predictor.mlp_hidden", &c.predictor.mlp_hidden,
         "predictor mlp: width of its hidden layer")
      .between(1, 65536);
  b.bind("predictor.remap_channels", &c.predictor.remap_channels,
         "predictor remap: channels of its convolutions")
      .at_least(1);
  b.bind("predictor.remap_outputs", &c.predictor.remap_outputs,
         "predictor remap: length of its output vector")
      .at_least(1);
  b.bind("predictor.tail", &c.predictor.tail,
         "predictor remap: how the end of a gradient longer than its vector is filled: last (with "
         "the last number) or cyclic")
      .one_of({"last", "cyclic"});
  b.bind(
       "predictor.forget", &c.predictor.forget,
       "predictors dfa, dfa-random, vt, head-ridge: share of the past that stays after a BP batch")
      .between(0, 1);
  b.bind("predictor.ridge", &c.predictor.ridge,
         "predictors dfa, vt, head-ridge: ridge of the fit, relative to the size of each feature")
      .between(1e-9, 1e9);
  b.bind("predictor.head_features", &c.predictor.head_features,
         "predictor head-ridge: numbers to which the head's gradient is reduced")
      .between(1, 4096);
  b.bind("predictor.dni_hidden", &c.predictor.dni_hidden,
         "predictor dni: hidden width of its networks")
      .at_least(1);
  b.bind("predictor.dni_label", &c.predictor.dni_label,
         "predictor dni: its networks see the label");
}

void bind_controller(core::Binding& b, RunConfig& c) {
  auto& a = c.automatic;
  b.bind("auto.steps", &a.steps, "method auto: cheap steps that it may use: names of methods");
  b.bind("auto.heldout", &a.heldout,
         "method auto: training examples kept out to measure progress on")
      .at_least(1);
  b.bind("auto.window", &a.window, "method auto: batches between two measurements").at_least(1);
  b.bind("auto.pairs", &a.pairs,
         "method auto: windows of a candidate in a trial, each beside one of backprop")
      .at_least(3);
  b.bind("auto.most", &a.most, "method auto: most cheap batches for one exact batch").at_least(1);
  b.bind("auto.confidence", &a.confidence,
         "method auto: confidence of the lower bound that must be above backprop")
      .between(0.5, 0.9999);
  b.bind("auto.probe_share", &a.probe_share,
         "method auto: at most this share of the batches is spent on trials that come to nothing")
      .between(0, 1);
  b.bind("auto.clock", &a.clock,
         "method auto: measured (seconds) or counted (multiplications, equal on every machine)")
      .one_of({"measured", "counted"});
}

}  // namespace

void bind_methods(core::Binding& b, RunConfig& c) {
  bind_predictor(b, c);
  b.bind("low_res.sizes", &c.low_res.sizes,
         "methods low-res, progressive: sides of smaller images; low-res takes the first, "
         "progressive one for each share; empty = 1/2, 3/4 and the whole of the images' own");
  b.bind("low_res.shares", &c.low_res.shares,
         "method progressive: share of the epochs for each size; the shares add up to 1");
  b.bind("low_res.scale_batch", &c.low_res.scale_batch,
         "methods low-res, progressive: batches of smaller images have more images, so that a GPU "
         "stays full");
  b.bind("low_res.scale_lr", &c.low_res.scale_lr,
         "methods low-res, progressive: the rate of a larger batch is multiplied by its growth to "
         "this power")
      .between(0, 1);
  b.bind("low_res.move_statistics", &c.low_res.move_statistics,
         "method low-res: smaller images also move the running statistics of norms");
  b.bind("select.anneal", &c.select_anneal,
         "methods stored-loss, infobatch: share of the epochs, at the end, that has all examples")
      .between(0, 1);
  b.bind("stored_loss.power", &c.stored_loss_power,
         "method stored-loss: an example is kept with probability (rank of its loss / N) to this "
         "power; 0 = all")
      .between(0, 100);
  b.bind("infobatch.prune", &c.infobatch_prune,
         "method infobatch: share of the examples below the mean loss that is left out")
      .between(0, 0.999);
  b.bind("selective.share", &c.selective.share,
         "method selective: share of a GP batch that goes backward")
      .between(0.001, 1);
  b.bind("selective.rule", &c.selective.rule,
         "method selective: top (examples with the largest losses) or priority (random, larger "
         "losses more often, unbiased)")
      .one_of({"top", "priority"});
  b.bind("partial.blocks", &c.partial_blocks,
         "method partial: blocks at the network's beginning without gradients in GP batches")
      .at_least(0);
  b.bind("freeze.at", &c.freeze.at,
         "method freeze: shares of the epochs after which blocks stop learning");
  b.bind("freeze.blocks", &c.freeze.blocks,
         "method freeze: how many blocks at the network's beginning stop, for each share of "
         "freeze.at");
  b.bind("modules.count", &c.modules.count,
         "method modules: parts into which the network is cut, at borders of its blocks; 1 = "
         "backprop")
      .at_least(1);
  b.bind(
       "modules.signal", &c.modules.signal,
       "method modules: what a part learns from: auxiliary (a loss of its own: DGL), delayed (true "
       "gradients of older batches: DDG, FDG), replay (delayed, at today's weights: features "
       "replay), critic (the gradient of a small network at the cut: VFBN, Sobolev training)")
      .one_of({"auxiliary", "delayed", "replay", "critic"});
  b.bind("modules.match", &c.modules.match,
         "method modules, signal critic: what the critic learns: value (the loss), gradient (of "
         "the loss by the activations), or both")
      .one_of({"value", "gradient", "both"});
  b.bind("modules.unlocked", &c.modules.unlocked,
         "method modules, signals delayed, replay: a part takes the activations of the batch "
         "before instead of waiting (FDG)");
  b.bind("modules.shrink", &c.modules.shrink,
         "method modules, signals delayed, replay: gradients are multiplied by this at each cut "
         "(FDG's shrinking)")
      .between(0, 1);
  b.bind("xgrad.factor", &c.xgrad_factor,
         "method xgrad: gradients are taken at w - factor * lr * momentum; 0 = backprop")
      .between(0, 10);
  b.bind("dropback.keep", &c.dropback.keep,
         "method dropback: share of the layers' weights that may differ from their fading first "
         "values; 1 = backprop")
      .between(0, 1);
  b.bind("dropback.init_decay", &c.dropback.init_decay,
         "method dropback: the first values are multiplied by this in each step; 1 = they stay "
         "(DropBack), 0.9 = they fade to zero (Procrustes)")
      .between(0, 1);
  b.bind("dropback.threshold", &c.dropback.threshold,
         "method dropback: how the weights that may differ are found: exact (the largest "
         "distances, as sorted) or estimate (a running quantile)")
      .one_of({"exact", "estimate"});
  b.bind("dropback.freeze", &c.dropback.freeze,
         "method dropback: after this time the choice of kept weights stays; 0ep = never");
  b.bind("compress.kind", &c.compress.kind,
         "--parallel data: what copies exchange of a gradient: none (all of it), top-k, power-sgd "
         "or sign, each with error feedback")
      .one_of({"none", "top-k", "power-sgd", "sign"});
  b.bind("compress.share", &c.compress.share,
         "compress.kind top-k: share of a tensor's numbers that is sent")
      .between(0, 1);
  b.bind("compress.rank", &c.compress.rank,
         "compress.kind power-sgd: rank of the matrices that are sent")
      .between(1, 4096);
  b.bind("control_variate.share", &c.control_variate,
         "method control-variate: share of a GP batch that goes backward; 1/2, 1/3, 1/4, ...")
      .between(0, 1);
  bind_controller(b, c);
  b.bind("ema.decay", &c.ema_decay, "method ema: decay of the running mean gradient").between(0, 1);
  b.bind("small_batch.share", &c.small_batch,
         "method small-batch: share of a GP batch that is used")
      .between(0, 1);
  b.bind("equal_time.reference", &c.equal_time_reference,
         "method equal-time: run folder whose seconds are the budget");
  b.bind("equal_time.batches", &c.equal_time_batches,
         "method equal-time: the budget in batches; 0 = the seconds of the reference")
      .between(0, kMostBatches);
}

}  // namespace adagp::config
