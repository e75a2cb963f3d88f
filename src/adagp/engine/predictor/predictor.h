#pragma once
// The contract of gradient predictors, and the table of those there are.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/base/config/predictor_options.h"
#include "adagp/engine/optim/optimizer.h"
#include "adagp/engine/predictor/activations.h"
#include "adagp/engine/predictor/predictor_sync.h"
#include "adagp/engine/predictor/summaries.h"

namespace adagp::predictor {

// What else is known of the batch, for predictors that use it.
struct Context {
  std::vector<at::Tensor> outputs;  // of the network
  std::vector<at::Tensor> targets;
  // Where the predictor's needs() ask for anything: the gradient of the loss by each output, in
  // fp32, and the tensors kept at the layers.
  std::vector<at::Tensor> errors = {};
  const Activations* activations = nullptr;
};

// Takes the gradients of a batch one layer at a time, in any order. `gradient` has the shape and
// the memory layout of the layer's weight and is only valid during the call: it may be overwritten.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // False: the layer's gradient is not wanted and need not be computed.
  virtual bool wants(size_t layer) const {
    (void)layer;
    return true;
  }
  virtual void accept(size_t layer, const at::Tensor& gradient) = 0;
  // That of the layer's bias, from predictors that have one. Not taken: the bias rests.
  virtual void accept_bias(size_t layer, const at::Tensor& gradient) {
    (void)layer;
    (void)gradient;
  }

  // A sink that is nothing but an optimizer says so. A predictor may then move the wanted layers'
  // weights itself, in one go, instead of handing gradients on.
  struct Direct {
    optim::Optimizer* optimizer;
    const std::vector<size_t>* slots;  // of each layer's weight in the optimizer
    bool beside = false;               // the work shares the device with a forward pass
    bool behind_pool = false;          // the launch before is that of Summaries::make_rows()
  };
  virtual std::optional<Direct> direct() const { return {}; }
};

// Learns from BP batches, serves GP batches. Has its own random generator and its own optimizer, so
// that its presence changes nothing in the model's random numbers.
class Predictor {
 public:
  virtual ~Predictor() = default;

  // What is to be kept of a batch beside its summaries.
  virtual Needs needs() const { return {}; }
  // Whether predict() is only launches on the current stream, which allocate nothing: then it may
  // run beside a forward pass, and be called for some layers at a time (those its sink wants), as
  // soon as the summaries of these are complete. And learn() looks at nothing that an update of
  // the weights changes: it may run beside one.
  virtual bool predicts_early() const { return false; }

  // One training step. `gradients[l]`: the true weight gradient of layer l, in the weight's layout
  // (bf16 where the layer computes in bf16). Returns the loss (a scalar on the device).
  at::Tensor observe(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                     const Context& context = {}) {
    advance(0);
    return learn(summaries, gradients, context);
  }
  // Its two halves: what the host sets for a batch of the run (the first is 0; the milestones of
  // the rate count BP and GP batches alike), and the work of the device, which may be recorded once
  // and replayed.
  virtual void advance(int64_t batch) = 0;
  // Before advance(): the share of its first rate that policy plateau has left the network. For
  // predictors whose own rate falls with it.
  virtual void follow_plateau(double share) { (void)share; }
  virtual at::Tensor learn(const Summaries& summaries, const std::vector<at::Tensor>& gradients,
                           const Context& context) = 0;

  // Hands each wanted layer's predicted gradient to `sink` as it is made.
  virtual void predict(const Summaries& summaries, const Context& context, GradientSink& sink) = 0;

  // Parameters, optimizer state, running norms, counters: everything a checkpoint needs.
  virtual std::map<std::string, at::Tensor> state() const = 0;
  virtual void load_state(const std::map<std::string, at::Tensor>& state) = 0;

  virtual int64_t parameter_count() const = 0;
  // Multiplications of one prediction for all layers from a batch of this many examples, and of one
  // learning step; for kinds that look at activations, of what the batch before was like.
  virtual double macs(int64_t examples) const = 0;
  virtual double learning_macs(int64_t examples) const {
    // A prediction and the gradients of its weights and activations.
    return 3 * macs(examples);
  }
};

struct Entry {
  std::string name;
  std::string about;
  // The layers to serve, and how many batches an epoch has (for the milestones of the rate).
  std::function<std::unique_ptr<Predictor>(const std::vector<nn::WeightLayer*>&, const Config&,
                                           uint64_t seed, int64_t batches_per_epoch,
                                           const PredictorSync& sync)>
      make;
  // What it sees of a layer's output. Empty: predictor.summary, pooled by means.
  std::function<SummaryForm(const Config&)> form = {};
};
const std::vector<Entry>& registry();
// Of another library; before the first look at the table.
void add(Entry entry);
// Throws UsageError for an unknown kind (with the nearest name) or a wrong duration.
void check(const Config& config);
// Of the summaries that this kind sees; throws UsageError for an unknown kind.
SummaryForm summary_form(const Config& config);
std::unique_ptr<Predictor> make_predictor(const std::vector<nn::WeightLayer*>& layers,
                                          const Config& config, uint64_t seed,
                                          int64_t batches_per_epoch,
                                          const PredictorSync& sync = {});

}  // namespace adagp::predictor
