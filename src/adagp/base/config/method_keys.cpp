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
  b.bind("freeze.at", &c.freeze.at,
         "method freeze: shares of the epochs after which blocks stop learning");
  b.bind("freeze.blocks", &c.freeze.blocks,
         "method freeze: how many blocks at the network's beginning stop, for each share of "
         "freeze.at");
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
