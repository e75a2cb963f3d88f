#pragma once
// The processes that train one network together, as the steps and the trainer see them. A process
// that trains alone is a SoloTeam. Every function that talks to the others is called by all of
// them, in the same order.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adagp/engine/run/checkpoint.h"
#include "adagp/engine/step/session.h"

namespace adagp::step {

class Team {
 public:
  virtual ~Team() = default;

  // Whether there is nobody else, so that steps may be repeated at will.
  virtual bool solo() const { return false; }
  // Why steps cannot be recorded; empty: they can, and what they tell others is done outside
  // (device/outside.h).
  virtual std::string unrecorded() const = 0;
  virtual int rank() const = 0;
  bool leads() const { return rank() == 0; }  // evaluates, and writes the run's folder

  // Whether this process moves the parameter or keeps the buffer of this name. Several may.
  virtual bool owns(const std::string& name) const = 0;
  // Whether this is the process that answers for a parameter where each may count once.
  virtual bool counts(const std::string& name) const { return owns(name); }
  // Whether several stages share the network's layers: the predictor then learns from all of them,
  // and a process holds the values of its own alone.
  virtual bool splits_layers() const = 0;
  // Of the network; they share every batch.
  virtual int64_t copies() const { return 1; }
  // What the mean over this process's examples counts in the mean over the copies: 1 where all have
  // equally many.
  double weight_of(const data::Batch& batch) const {
    if (batch.empty() || batch.whole == 0) return 1;
    return static_cast<double>(batch.size() * copies()) / static_cast<double>(batch.whole);
  }
  // This process's part of every batch, which alone is loaded; a process that needs none gets
  // batches without tensors.
  virtual std::unique_ptr<data::BatchSource> share(std::unique_ptr<data::BatchSource> whole) = 0;

  // The steps' halves: true gradients of the whole batch in the parameters it owns, and with
  // `tapped` their summaries; and the forward pass of a GP batch with its summaries. Loss and
  // outputs are there where the last stage is.
  virtual StepResult backprop(Session& session, const data::Batch& batch, bool tapped) = 0;
  virtual StepResult forward(Session& session, const data::Batch& batch) = 0;
  // Adds up over the stages, each layer once.
  virtual void sum_over_stages(std::vector<at::Tensor>& tensors) = 0;
  // Whether the copies average predicted gradients instead of summaries.
  virtual bool averages_predictions() const = 0;
  // Called before the first batch where the run may have batches of which the copies get unlike
  // shares; throws UsageError where that cannot work.
  virtual void expect_unlike_shares(const config::RunConfig& config) const { (void)config; }
  // The sum over the copies, in place.
  virtual void sum_over_copies(at::Tensor& tensor, const char* doing) = 0;

  // Whether every process has a stage that learns apart from the others: then the method exchanges
  // what they need.
  virtual bool stages_apart() const { return false; }

  // Before the first batch. Throws UsageError where another process has other values of a parameter
  // that both hold.
  virtual void compare_weights(const models::Net& net) { (void)net; }

  // The network as a whole, in the leader's copy, until release().
  virtual void collect(Session& session) = 0;
  // Before every batch.
  virtual void release(Session& session) { (void)session; }
  // Adds the other processes' parts to the leader's snapshot.
  virtual void merge(run::Snapshot& snapshot) = 0;
  // Gives the leader's snapshot or text to all.
  virtual void spread(std::optional<run::Snapshot>& snapshot) = 0;
  virtual std::string spread(const std::string& text) = 0;

  // What a team keeps between batches, for the checkpoint; names tell whose it is.
  virtual std::map<std::string, at::Tensor> state() const { return {}; }
  virtual void load_state(const std::map<std::string, at::Tensor>& state) { (void)state; }
  // One line on the bytes that copies of the network sent each other; empty: there is nothing to
  // say.
  virtual std::string traffic() const { return ""; }
  // One line on the memory of the processes, or nothing. Called by all.
  virtual std::string memory() { return ""; }

  virtual task::RunningMetrics::Values sum(const task::RunningMetrics::Values& values) = 0;
  // The largest signal of all, or 0; perhaps as it was one call ago, unless it is wanted `now`.
  virtual int agree(int signal, bool now) = 0;
  // Until the device has done what is queued there. Throws when it waits for a process that hangs,
  // as every other wait for the device would without end.
  virtual void settle() {}
  // Until the leader calls it too, however long it evaluates or reads.
  virtual void wait_for_leader() = 0;
  // Tells the others why this process stops. Never throws.
  virtual void fail(const std::string& why) noexcept = 0;
};

// One process that trains alone: everything is its own, and nobody is asked.
class SoloTeam : public Team {
 public:
  bool solo() const override { return true; }
  std::string unrecorded() const override { return ""; }
  int rank() const override { return 0; }
  bool owns(const std::string&) const override { return true; }
  bool splits_layers() const override { return false; }
  std::unique_ptr<data::BatchSource> share(std::unique_ptr<data::BatchSource> whole) override {
    return whole;
  }
  // In exact_step.cpp and predicted_step.cpp.
  StepResult backprop(Session& session, const data::Batch& batch, bool tapped) override;
  StepResult forward(Session& session, const data::Batch& batch) override;
  void sum_over_stages(std::vector<at::Tensor>&) override {}
  bool averages_predictions() const override { return false; }
  void sum_over_copies(at::Tensor&, const char*) override {}
  void collect(Session&) override {}
  void merge(run::Snapshot&) override {}
  void spread(std::optional<run::Snapshot>&) override {}
  std::string spread(const std::string& text) override { return text; }
  task::RunningMetrics::Values sum(const task::RunningMetrics::Values& values) override {
    return values;
  }
  int agree(int signal, bool) override { return signal; }
  void wait_for_leader() override {}
  void fail(const std::string&) noexcept override {}
};

// Whoever makes one is told the resolved configuration and the network, of which shapes are enough.
using TeamMaker = std::function<std::shared_ptr<Team>(const config::RunConfig&, const task::Task&,
                                                      const std::shared_ptr<models::Net>&)>;

}  // namespace adagp::step
