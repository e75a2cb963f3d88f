#pragma once
// What a step works on: the network with its optimizer, and the predictor where a method has one.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include "adagp/base/config/run_config.h"
#include "adagp/base/schedule/schedule.h"
#include "adagp/engine/models/model.h"
#include "adagp/engine/nn/layer.h"
#include "adagp/engine/optim/optimizer.h"
#include "adagp/engine/predictor/predictor.h"
#include "adagp/engine/step/session_part.h"
#include "adagp/engine/task/running_metrics.h"
#include "adagp/engine/task/task.h"

namespace adagp::step {

class Team;

// What GP batches do with the layers that make the outputs.
enum class Head { kPredicted, kExact, kFrozen };

struct Session {
  config::RunConfig config;
  std::shared_ptr<const task::Task> task;
  at::Device device = at::kCPU;
  std::shared_ptr<models::Net> net;
  std::shared_ptr<Team> team;            // never null; a SoloTeam where this process trains alone
  std::vector<nn::WeightLayer*> layers;  // those this process moves
  std::vector<size_t> heads;             // indices into `layers` of those that make the outputs
  Head head = Head::kPredicted;
  bool bf16 = false;
  std::vector<std::unique_ptr<SessionPart>> parts;  // of experiments; in most sessions none
  std::unique_ptr<optim::Optimizer> optimizer;
  std::vector<size_t> weight_slot;                  // of each layer's weight in the optimizer
  std::unique_ptr<predictor::Predictor> predictor;  // null when the method has none
  std::unique_ptr<predictor::Summaries> summaries;
  std::unique_ptr<predictor::Activations> activations;  // null unless the predictor asks for any
  at::Tensor predictor_loss;                            // of the latest BP batch, on the device
  int64_t batch = 0;                                    // of the run, the first is 0
  double lr = 0;                                        // of the present batch
  double plateau = 1;                                   // schedule::Policy::fallen()
  // The loss every training example had when last seen, float [N] on the device; undefined where
  // nothing asks for it.
  at::Tensor stored_losses;
  // Seconds of training so far, without evaluations and checkpoints; set by the trainer.
  std::function<double()> trained_seconds = [] { return 0.0; };
  int64_t first_block = 0;     // blocks before it have no gradients: they are run without a graph
  task::RunningMetrics tally;  // of the batches since it was last reset
  // Why weights or state are not what they should be (step/restoration.h); empty: they are.
  std::string broken;

  // Throws Error in a broken session. Steps, evaluations and checkpoints begin with it.
  void check_intact() const;
  bool is_head(size_t layer) const;
  // The part of this type; null: there is none.
  template <typename T>
  T* part() const {
    for (const auto& one : parts) {
      if (auto* found = dynamic_cast<T*>(one.get())) return found;
    }
    return nullptr;
  }
  // Of the part that has any.
  nn::KeptValues* kept_values() const {
    for (const auto& one : parts) {
      if (auto* values = one->kept_values()) return values;
    }
    return nullptr;
  }
  // Whether predictor and optimizer only queue kernels for this process's own tensors: then they
  // may work on a stream beside the step's own.
  bool can_work_beside() const;
  // Of a batch's outputs; kept for its examples where there is a table of them.
  task::Loss loss(const models::Tensors& outputs, const data::Batch& batch, bool gradient) {
    return task->loss(config, tally, outputs, batch.targets,
                      {net->is_training(), gradient, stored_losses, batch.examples});
  }
  void set_lr(double rate) {
    lr = rate;
    optimizer->set_lr(rate);
  }
};

// Takes the network to the device, in channels-last, with bf16 copies of its weights where it is to
// compute in bf16, and builds the optimizer over its parameters. Summaries and predictor are added
// by the functions below. Without a team the process trains alone.
Session make_session(const config::RunConfig& config, std::shared_ptr<const task::Task> task,
                     std::shared_ptr<models::Net> net, std::shared_ptr<Team> team = nullptr);
// What every method with GP batches needs: the summaries, and the head's input for head = exact.
void add_summaries(Session& session);
// Throws UsageError for a kind of predictor that cannot serve this run.
void add_predictor(Session& session, int64_t batches_per_epoch);

// What a step saw. Tensors are detached and on the device; empty when nothing was forwarded.
struct StepResult {
  at::Tensor loss;
  models::Tensors outputs;
  data::Tensors targets;
  schedule::Phase phase = schedule::Phase::kBackprop;

  // The loss of a part of the batch, which has this share of its examples.
  void add(const at::Tensor& part, double share) {
    const at::Tensor value = share == 1 ? part : part * share;
    loss = loss.defined() ? loss + value : value;
  }
};

}  // namespace adagp::step
