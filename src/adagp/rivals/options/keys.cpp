#include "adagp/rivals/options/options.h"

#include <cmath>

#include "adagp/base/config/run_config.h"
#include "adagp/base/core/duration.h"
#include "adagp/base/core/error.h"

namespace adagp::rivals {
namespace {

void bind_fast(core::Binding& b, FastOptions& o) {
  core::Binding::Field& precision = b.field("precision");
  precision.choices.emplace_back("fast");
  precision.about += "; or fast (products in block floating point, fp32 weights)";
  b.bind("fast.rule", &o.rule,
         "precision fast: mantissa bits of a tensor: adaptive (2 or 4), fixed (fast.mantissa), or "
         "fast.mantissa in one half of the run (temporal) or of the layers (layerwise) and fp32 in "
         "the other half")
      .one_of({"adaptive", "fixed", "temporal-low-to-high", "temporal-high-to-low",
               "layerwise-low-to-high", "layerwise-high-to-low"});
  b.bind("fast.mantissa", &o.mantissa,
         "precision fast, all rules but adaptive: bits of a mantissa without its sign")
      .between(1, 24);
  b.bind("fast.alpha", &o.alpha,
         "precision fast, rule adaptive: a tensor has 4 bits if 2 bits would lose at least alpha - "
         "beta * (share of the run) - beta * (layer / layers)");
  b.bind("fast.beta", &o.beta,
         "precision fast, rule adaptive: how fast the limit of fast.alpha falls during the run and "
         "from layer to layer")
      .at_least(0);
  b.bind("fast.every", &o.every,
         "precision fast, rule adaptive: batches between two decisions; each decision costs one "
         "more step");
  b.bind("fast.rounding", &o.rounding,
         "precision fast: stochastic (gradients with 8 random bits, other tensors to nearest), "
         "nearest or truncate")
      .one_of({"stochastic", "nearest", "truncate"});
  b.bind("fast.exponent_bits", &o.exponent_bits,
         "precision fast: bits of a group's exponent; with fewer than 8 they count down from the "
         "tensor's largest exponent")
      .between(1, 8);
  b.bind("fast.regroup", &o.regroup,
         "precision fast: true = groups lie along what each product sums over; false = always "
         "along the channels");
}

void bind_edram(core::Binding& b, EdramOptions& o) {
  b.bind("edram.error", &o.error,
         "share of the activations kept for the backward pass that get one wrong mantissa bit, as "
         "after a missed refresh; 0 = none")
      .between(0, 1);
}

void bind_predictors(core::Binding& b, PredictorOptions& o) {
  b.bind("predictor.mlp_hidden", &o.mlp_hidden, "predictor mlp: width of its hidden layer")
      .between(1, 65536);
  b.bind(
       "predictor.forget", &o.forget,
       "predictors dfa, dfa-random, vt, head-ridge: share of the past that stays after a BP batch")
      .between(0, 1);
  b.bind("predictor.ridge", &o.ridge,
         "predictors dfa, vt, head-ridge: ridge of the fit, relative to the size of each feature")
      .between(1e-9, 1e9);
  b.bind("predictor.head_features", &o.head_features,
         "predictor head-ridge: numbers to which the head's gradient is reduced")
      .between(1, 4096);
  b.bind("predictor.dni_hidden", &o.dni_hidden, "predictor dni: hidden width of its networks")
      .at_least(1);
  b.bind("predictor.dni_label", &o.dni_label, "predictor dni: its networks see the label");
}

void bind_modules(core::Binding& b, ModulesOptions& o) {
  b.bind("modules.count", &o.count,
         "method modules: parts into which the network is cut, at borders of its blocks; 1 = "
         "backprop")
      .at_least(1);
  b.bind(
       "modules.signal", &o.signal,
       "method modules: what a part learns from: auxiliary (a loss of its own: DGL), delayed (true "
       "gradients of older batches: DDG, FDG), replay (delayed, at today's weights: features "
       "replay), critic (the gradient of a small network at the cut: VFBN, Sobolev training), "
       "synthetic (a gradient that a small network tells: DNI), feedback (the output's error times "
       "a fixed random matrix: DFA)")
      .one_of({"auxiliary", "delayed", "replay", "critic", "synthetic", "feedback"});
  b.bind("modules.match", &o.match,
         "method modules, signal critic: what the critic learns: value (the loss), gradient (of "
         "the loss by the activations), or both")
      .one_of({"value", "gradient", "both"});
  b.bind("modules.unlocked", &o.unlocked,
         "method modules, signals delayed, replay: a part takes the activations of the batch "
         "before instead of waiting (FDG)");
  b.bind("modules.shrink", &o.shrink,
         "method modules, signals delayed, replay: gradients are multiplied by this at each cut "
         "(FDG's shrinking)")
      .between(0, 1);
}

void bind_noise(core::Binding& b, NoiseOptions& o) {
  b.bind("noise.eta", &o.eta,
         "method noise: the noise of step t = 0, 1, ... has the variance eta / (1 + t)^0.55; 0 = "
         "backprop")
      .at_least(0);
}

void bind_xgrad(core::Binding& b, XGradOptions& o) {
  b.bind("xgrad.factor", &o.factor,
         "method xgrad: gradients are taken at w - factor * lr * momentum; 0 = backprop")
      .between(0, 10);
}

void bind_dropback(core::Binding& b, DropBackOptions& o) {
  b.bind("dropback.keep", &o.keep,
         "method dropback: share of the layers' weights that may differ from their fading first "
         "values; 1 = backprop")
      .between(0, 1);
  b.bind("dropback.init_decay", &o.init_decay,
         "method dropback: the first values are multiplied by this in each step; 1 = they stay "
         "(DropBack), 0.9 = they fade to zero (Procrustes)")
      .between(0, 1);
  b.bind("dropback.threshold", &o.threshold,
         "method dropback: how the weights that may differ are found: exact (the largest "
         "distances, as sorted) or estimate (a running quantile)")
      .one_of({"exact", "estimate"});
  b.bind("dropback.freeze", &o.freeze,
         "method dropback: after this time the choice of kept weights stays; 0ep = never");
}

void bind_compress(core::Binding& b, CompressOptions& o) {
  b.bind("compress.kind", &o.kind,
         "--parallel data: what copies exchange of a gradient: none (all of it), top-k, power-sgd "
         "or sign, each with error feedback")
      .one_of({"none", "top-k", "power-sgd", "sign"});
  b.bind("compress.share", &o.share,
         "compress.kind top-k: share of a tensor's numbers that is sent")
      .between(0, 1);
  b.bind("compress.rank", &o.rank, "compress.kind power-sgd: rank of the matrices that are sent")
      .between(1, 4096);
}

void bind_control_variate(core::Binding& b, ControlVariateOptions& o) {
  b.bind("control_variate.share", &o.share,
         "method control-variate: share of a GP batch that goes backward; 1/2, 1/3, 1/4, ...")
      .between(0, 1);
}

void bind_selective(core::Binding& b, SelectiveOptions& o) {
  b.bind("selective.share", &o.share, "method selective: share of a GP batch that goes backward")
      .between(0.001, 1);
  b.bind("selective.rule", &o.rule,
         "method selective: top (examples with the largest losses) or priority (random, larger "
         "losses more often, unbiased)")
      .one_of({"top", "priority"});
}

void bind_partial(core::Binding& b, PartialOptions& o) {
  b.bind("partial.blocks", &o.blocks,
         "method partial: blocks at the network's beginning without gradients in GP batches")
      .at_least(0);
}

void bind_auto(core::Binding& b, AutoOptions& o) {
  b.bind("auto.steps", &o.steps, "method auto: cheap steps that it may use: names of methods");
  b.bind("auto.heldout", &o.heldout,
         "method auto: training examples kept out to measure progress on")
      .at_least(1);
  b.bind("auto.window", &o.window, "method auto: batches between two measurements").at_least(1);
  b.bind("auto.pairs", &o.pairs,
         "method auto: windows of a candidate in a trial, each beside one of backprop")
      .at_least(3);
  b.bind("auto.most", &o.most, "method auto: most cheap batches for one exact batch").at_least(1);
  b.bind("auto.confidence", &o.confidence,
         "method auto: confidence of the lower bound that must be above backprop")
      .between(0.5, 0.9999);
  b.bind("auto.probe_share", &o.probe_share,
         "method auto: at most this share of the batches is spent on trials that come to nothing")
      .between(0, 1);
  b.bind("auto.clock", &o.clock,
         "method auto: measured (seconds) or counted (multiplications, equal on every machine)")
      .one_of({"measured", "counted"});
}

void bind_predictor(core::Binding& b, predictor::Config& c) {
  b.bind("predictor.steps", &c.steps,
         "predictors shared, mlp: steps of the predictor's optimizer in a BP batch: joint (one, "
         "for all layers) or per-layer (one for each layer, the last layer first)")
      .one_of({"joint", "per-layer"});
  b.bind("predictor.order", &c.order,
         "predictor shared: conv-pool (its convolution sees the whole summary) or pool-conv (the "
         "summary pooled to predictor.pooled)")
      .one_of({"conv-pool", "pool-conv"});
  b.bind("predictor.remap_channels", &c.remap_channels,
         "predictor remap: channels of its convolutions")
      .at_least(1);
  b.bind("predictor.remap_outputs", &c.remap_outputs,
         "predictor remap: length of its output vector")
      .at_least(1);
  b.bind("predictor.tail", &c.tail,
         "predictor remap: how the end of a gradient longer than its vector is filled: last (with "
         "the last number) or cyclic")
      .one_of({"last", "cyclic"});
  b.bind("predictor.remap_target", &c.parts.get<PredictorOptions>().remap_target,
         "predictor remap: what it learns: raw (gradient) or rms (gradient / running RMS)")
      .one_of({"raw", "rms"});
}

// What else must hold for a key to be read (config/run_config.cpp has those of the engine).
void add_conditions(core::Binding& b) {
  b.when("modules.", "method", "modules");
  b.when("noise.", "method", "noise");
  b.when("xgrad.", "method", "xgrad");
  b.when("dropback.", "method", "dropback");
  b.when("control_variate.", "method", "control-variate");
  b.when("selective.", "method", "selective");
  b.when("partial.", "method", "partial");
  b.when("auto.", "method", "auto");
  for (const char* key : {"head", "probe_every"}) b.also_when(key, "method", "control-variate");
  for (const char* kind : {"mlp", "remap"}) {
    b.also_when("predictor.input", "predictor.kind", kind);
  }
  b.also_when("predictor.summary", "predictor.kind", "mlp");
  for (const char* kind : {"mlp", "dni"}) b.also_when("predictor.target", "predictor.kind", kind);
  for (const char* kind : {"mlp", "remap", "dni"}) {
    for (const char* key : {"predictor.lr", "predictor.milestones", "predictor.gamma"}) {
      b.also_when(key, "predictor.kind", kind);
    }
  }
  for (const char* key : {"predictor.remap_channels", "predictor.remap_outputs", "predictor.tail",
                          "predictor.remap_target", "predictor.mlp_hidden", "predictor.forget",
                          "predictor.ridge", "predictor.head_features", "predictor.dni_hidden",
                          "predictor.dni_label", "predictor.steps", "predictor.order"}) {
    b.when(key, "method", "predicts");
  }
  b.when("predictor.remap_channels predictor.remap_outputs predictor.tail predictor.remap_target",
         "predictor.kind", "remap");
  b.when("predictor.mlp_hidden", "predictor.kind", "mlp");
  b.when("predictor.steps", "predictor.kind", "shared mlp");
  b.when("predictor.order", "predictor.kind", "shared");
  b.when("predictor.forget", "predictor.kind", "dfa dfa-random vt head-ridge");
  b.when("predictor.ridge", "predictor.kind", "dfa vt head-ridge");
  b.when("predictor.head_features", "predictor.kind", "head-ridge");
  b.when("predictor.dni_hidden predictor.dni_label", "predictor.kind", "dni");
  b.when("modules.unlocked modules.shrink", "modules.signal", "delayed replay");
  b.when("modules.match", "modules.signal", "critic");
  b.when("compress.share", "compress.kind", "top-k");
  b.when("compress.rank", "compress.kind", "power-sgd");
  b.when("fast.", "precision", "fast");
  b.when("fast.alpha fast.beta fast.every", "fast.rule", "adaptive");
  b.when("fast.mantissa", "fast.rule",
         "fixed temporal-low-to-high temporal-high-to-low layerwise-low-to-high "
         "layerwise-high-to-low");
}

void bind(core::Binding& b, config::RunConfig& c) {
  bind_fast(b, c.parts.get<FastOptions>());
  bind_edram(b, c.parts.get<EdramOptions>());
  bind_predictor(b, c.predictor);
  bind_predictors(b, c.predictor.parts.get<PredictorOptions>());
  bind_modules(b, c.parts.get<ModulesOptions>());
  bind_noise(b, c.parts.get<NoiseOptions>());
  bind_xgrad(b, c.parts.get<XGradOptions>());
  bind_dropback(b, c.parts.get<DropBackOptions>());
  bind_compress(b, c.parts.get<CompressOptions>());
  bind_control_variate(b, c.parts.get<ControlVariateOptions>());
  bind_selective(b, c.parts.get<SelectiveOptions>());
  bind_partial(b, c.parts.get<PartialOptions>());
  bind_auto(b, c.parts.get<AutoOptions>());
  add_conditions(b);
}

void validate(const config::RunConfig& config) {
  core::Duration::parse(config.parts.get<DropBackOptions>().freeze);
  const std::string& every_text = config.parts.get<FastOptions>().every;
  const core::Duration every = core::Duration::parse(every_text);
  if (every.unit != core::Duration::Unit::kBatches || every.value < 1 ||
      every.value != std::floor(every.value)) {
    throw UsageError("fast.every = " + every_text +
                     ": expected a whole number of batches, as 100ba");
  }
}

// One process has nobody to send gradients to.
void validate_alone(const config::RunConfig& config) {
  const std::string& kind = config.parts.get<CompressOptions>().kind;
  if (kind == "none") return;
  throw UsageError("compress.kind = " + kind +
                   ": one process exchanges no gradients; add --parallel data with 2 processes or "
                   "more, or leave it out");
}

}  // namespace

void add_keys() {
  static const bool once = [] {
    config::add_keys({bind, validate, validate_alone});
    return true;
  }();
  (void)once;
}

}  // namespace adagp::rivals
