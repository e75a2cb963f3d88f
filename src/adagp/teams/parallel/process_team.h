#pragma once
// Processes that train one network: copies of it share the batch, stages of a pipeline the layers,
// or both.

#include <memory>

#include "adagp/engine/nn/norm_sync.h"
#include "adagp/engine/step/team.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/parallel/buckets.h"
#include "adagp/teams/parallel/compressor.h"
#include "adagp/teams/parallel/executor.h"
#include "adagp/teams/parallel/signal_vote.h"
#include "adagp/teams/parallel/spec.h"

namespace adagp::parallel {

// Refuses what no network and no data could make possible (UsageError with the numbers).
void check_together(const Spec& spec, const Shape& shape, const config::RunConfig& config);

class ProcessTeam : public step::Team {
 public:
  // Refuses what cannot work (UsageError with the numbers), and members with another network, data
  // or options. Of the network it needs shapes alone.
  ProcessTeam(std::unique_ptr<comm::Group> world, const Spec& spec, const config::RunConfig& config,
              const task::Task& task, models::Net& net);

  std::string unrecorded() const override;
  int rank() const override { return world_->rank(); }
  bool owns(const std::string& name) const override { return own_.contains(name); }
  bool counts(const std::string& name) const override;
  bool splits_layers() const override { return placement_.stages > 1; }
  int64_t copies() const override { return shape_.copies; }
  std::unique_ptr<data::BatchSource> share(std::unique_ptr<data::BatchSource> whole) override;

  step::StepResult backprop(step::Session& session, const data::Batch& batch, bool tapped) override;
  step::StepResult forward(step::Session& session, const data::Batch& batch) override;
  void sum_over_stages(std::vector<at::Tensor>& tensors) override;
  bool averages_predictions() const override { return copies_ && spec_.predict == "gradients"; }
  void expect_unlike_shares(const config::RunConfig& config) const override;
  void sum_over_copies(at::Tensor& tensor, const char* doing) override;
  bool stages_apart() const override { return spec_.pipeline == kDecoupled && pipe_; }
  // The processes of this copy's pipeline; null: it has one stage.
  comm::Group* pipe() { return pipe_.get(); }

  void compare_weights(const models::Net& net) override;
  void collect(step::Session& session) override;
  void release(step::Session& session) override;
  void merge(run::Snapshot& snapshot) override;
  void spread(std::optional<run::Snapshot>& snapshot) override;
  std::string spread(const std::string& text) override;

  task::RunningMetrics::Values sum(const task::RunningMetrics::Values& values) override;
  int agree(int signal, bool now) override;
  void settle() override;
  void wait_for_leader() override;
  void fail(const std::string& why) noexcept override;

  std::map<std::string, at::Tensor> state() const override;
  void load_state(const std::map<std::string, at::Tensor>& state) override;
  std::string traffic() const override;
  std::string memory() override;

  // One line: "4 processes: 2 copies of a pipeline of 2 stages (gpipe, 4 micro-batches)".
  std::string describe() const;

 private:
  void shake_hands(const config::RunConfig& config, const task::Task& task, const models::Net& net);
  // Of the batch that begins: unlike shares weigh unlike.
  void take_shares(const step::Session& session, const data::Batch& batch);
  // Around the backward passes of a batch.
  void begin_gradients(step::Session& session);
  void join_gradients(step::Session& session);
  void average_gradients(step::Session& session);  // over the copies
  const nn::NormSync* synced() const {
    return spec_.sync_norm && shape_.copies > 1 ? &norms_ : nullptr;
  }
  void join_summaries(step::Session& session, bool between_copies);
  // Whether this process has a use for an entry of a checkpoint.
  bool wants(const std::string& entry) const;
  void tie(const models::Net& net);
  std::string doing(const char* what) const;
  Compressor* compressor(step::Session& session);  // null: gradients travel whole

  Spec spec_;
  Shape shape_;
  pipeline::Placement placement_;
  layers::Stages stages_;
  std::unique_ptr<comm::Group> world_;
  std::unique_ptr<comm::Group> pipe_;    // the devices of this copy's pipeline; null: one
  std::unique_ptr<comm::Group> copies_;  // those with the same stages in all copies; null: no data
  std::unique_ptr<comm::Group> pair_;    // those with the same stages in this pipeline; null: none
  int copy_ = 0, device_ = 0;
  std::set<std::string> own_;        // parameters and buffers
  std::set<std::string> elsewhere_;  // parameters of other stages
  // A parameter that several stages use, and the devices of this pipeline that have it.
  struct Tied {
    std::string name;
    std::unique_ptr<comm::Group> group;  // null: this process alone, or without it
  };
  std::vector<Tied> tied_;
  bool whole_ = false;       // the leader holds all values at the moment
  double begin_memory_ = 0;  // of this process, before the first batch
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Buckets> buckets_;                    // of the copies; made at the first BP batch
  std::unique_ptr<Compressor> compressor_;              // made then, too
  std::map<std::string, at::Tensor> saved_compressor_;  // waits for it
  std::string compressed_;                              // the option that asks for it; empty: none
  std::unique_ptr<SignalVote> signals_;
  bool equal_shares_ = true;  // of the present batch
  nn::NormSync norms_;
  int64_t batches_ = 0;
  // Of the traffic between copies, in this process.
  struct Sent {
    int64_t batches = 0;
    double bytes = 0;
    void add(double more) {
      ++batches;
      bytes += more;
    }
  };
  Sent gradients_, summaries_;
};

}  // namespace adagp::parallel
