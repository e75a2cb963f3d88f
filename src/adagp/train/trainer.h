#pragma once
// The training loop, the same for every method.

#include <map>
#include <memory>
#include <string>

#include "adagp/core/progress.h"
#include "adagp/io/events.h"
#include "adagp/io/jsonl.h"
#include "adagp/method/method.h"
#include "adagp/metrics/timer.h"
#include "adagp/run/checkpoint.h"
#include "adagp/run/run_folder.h"
#include "adagp/schedule/policy.h"
#include "adagp/step/session.h"
#include "adagp/step/step_graph.h"
#include "adagp/step/team.h"
#include "adagp/train/epoch_planner.h"

namespace adagp::train {

class Trainer {
 public:
  // `net` is freshly initialised, or holds the weights to start from.
  Trainer(const config::RunConfig& config, std::shared_ptr<const task::Task> task,
          std::shared_ptr<models::Net> net, std::shared_ptr<step::Team> team = nullptr);

  // Trains to the end, from the folder's newest checkpoint if it has one. Throws DivergedError, and
  // Interrupted after saving when a signal arrived. In a team only the leader has a folder.
  report::Summary run(run::RunFolder* folder);
  report::Summary run(run::RunFolder& folder) { return run(&folder); }

  int64_t batches_per_epoch() const { return per_epoch_; }  // of an epoch with all examples
  // BP and GP batches of the run, as far as can be said before it.
  EpochPlanner::Counts foreseen() const;
  // A warning when the method has cheap batches and the schedule gives it none; empty otherwise.
  std::string no_gp_batches() const;
  const schedule::Schedule& schedule() const { return schedule_; }
  step::Session& session() { return session_; }
  method::Method& method() { return *method_; }
  const method::Costs& costs() const { return *costs_; }
  data::BatchSource& source() { return *train_source_; }

 private:
  void one_batch();
  // On a GPU: what is done once for a kind of step (recording it, choices of libraries) is done
  // before the run, where the method measures steps and begins some of them late.
  void rehearse();
  // Takes the batch at the present position, or passes over it; annotated, as the method shows it.
  data::Batch take_batch(const method::BatchContext& moment);
  step::StepResult full_batch(const data::Batch& batch);
  step::StepResult cheap_batch(const data::Batch& batch);
  // The rate is a function of how much of the run is done, whatever the epochs have for batches.
  double rate(const method::BatchContext& moment) const;
  bool done() const;
  bool at_end_of_epoch() const { return at_.position == 0 || done(); }
  // Throws DivergedError naming where it was seen and the first layer whose output is not finite.
  void check_loss(double loss, const std::string& where);
  // The mean loss of the batches since the last call, on the device until then.
  void check_interval(const task::RunningMetrics::Values& now);
  void log_interval();
  void tell_decisions();  // of the method, as they are made
  void end_epoch(run::RunFolder* folder);
  task::Evaluation evaluate();
  // What every process of a team does together, so that one's signal stops all of them.
  int agreed_signal(bool end_of_epoch);

  // Why a run of `epochs` is not the beginning of this one: what it did depends on its length.
  // Empty: going on from its end gives what a run of this length gives.
  std::string why_not_longer_than(int64_t epochs) const;
  // Makes the folder's shorter run this one. Throws UsageError when it cannot be.
  void extend(run::RunFolder& folder, bool has_checkpoint) const;

  void open_records(run::RunFolder& folder);
  run::Snapshot snapshot(const task::RunningMetrics::Values& seen) const;
  void restore(const run::Snapshot& snapshot);
  void save(run::RunFolder* folder);
  void write_weights(const core::fs::path& file) const;
  report::Summary summary() const;

  // Training seconds count batches alone; the clock stops, after the device is done, for the rest.
  void start_clock() { clock_.restart(); }
  void stop_clock();
  // Tells and records how long the process stood still since the last call.
  void note_stopped();
  const task::Figure& main_figure() const { return session_.task->figures().front(); }
  step::Team* team() const { return session_.team.get(); }
  double fraction() const;
  // For the estimate of the time left: the share of the run's work that is done.
  double work_done() const;
  void start_estimate();
  std::string time_left() const;  // " left 3m 20s"; empty where nothing can be said
  // What the run has cost so far, in epochs of plain backprop; NaN where it cannot be counted.
  double cost_epochs() const;
  int64_t nominal_step() const;
  int64_t epochs_in_batches() const;  // epochs so far, each counting as per_epoch_ batches
  std::string of_total() const;       // " of 300", where the number of batches is known before

  step::Session session_;
  schedule::Schedule schedule_;
  std::unique_ptr<method::Method> method_;
  std::unique_ptr<EpochPlanner> planner_;
  std::unique_ptr<method::Costs> costs_;
  std::unique_ptr<data::BatchSource> train_source_, test_source_;
  int64_t per_epoch_ = 0;
  int64_t total_ = 0;  // batches of the run if every epoch has per_epoch_ of them
  std::unique_ptr<schedule::Policy> policy_;
  method::Probes probes_;
  // Kinds of full steps: what a probe does in them, how many blocks are frozen, the method's own.
  std::map<std::tuple<method::Probes::Turn, int64_t, int64_t>, step::StepGraph> full_graphs_;
  std::map<int64_t, step::StepGraph> cheap_graphs_;
  step::StepGraph eval_graph_;

  // Position and totals: what a checkpoint holds beside tensors.
  struct Place {
    int64_t epoch = 0, position = 0;
    // Counted from 1, as the progress lines count.
    std::string text() const;  // "epoch 1 batch 3"
  };
  Place at_, last_;  // of the next batch, of the one before
  int64_t step_ = 0, bp_batches_ = 0, gp_batches_ = 0;
  double macs_ = 0;  // of all batches so far
  double train_seconds_ = 0, eval_seconds_ = 0;
  double stopped_seconds_ = 0;  // left out of both: the process stood still
  double test_loss_ = 0, best_score_ = -1;
  std::map<std::string, double> figures_;  // of the latest evaluation
  task::RunningMetrics::Values checked_;   // what check_interval() last saw
  Place checked_from_;
  schedule::Phase phase_ = schedule::Phase::kBackprop;

  metrics::Stopwatch clock_, since_start_;  // of batches alone, of everything in this process
  double foreseen_macs_ = 0, work_at_start_ = 0;
  double stopped_before_ = 0;  // what was noted of this process's standing still
  int64_t timed_batches_ = 0, timed_examples_ = 0;  // since the last line
  int64_t batches_of_last_ = 0;                     // in the epoch of the last batch
  double timed_from_ = 0;
  data::Batch last_batch_;  // for the report of a divergence
  int64_t log_every_ = 1, checkpoint_every_ = 1;
  std::unique_ptr<io::JsonlWriter> records_;
  std::unique_ptr<io::EventWriter> events_;
  core::Progress progress_{0.0};
};

}  // namespace adagp::train
