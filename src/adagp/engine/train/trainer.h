#pragma once
// The training loop, the same for every method.

#include <array>
#include <memory>
#include <string>

#include "adagp/base/schedule/policy.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/run/run_folder.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/train/clock.h"
#include "adagp/engine/train/epoch_planner.h"
#include "adagp/engine/train/forecast.h"
#include "adagp/engine/train/held_out.h"
#include "adagp/engine/train/loss_watch.h"
#include "adagp/engine/train/recorder.h"
#include "adagp/engine/train/run_progress.h"
#include "adagp/engine/train/run_state.h"
#include "adagp/engine/train/step_runner.h"
#include "adagp/engine/train/totals.h"
#include "adagp/engine/train/trace.h"

namespace adagp::train {

class Trainer {
 public:
  // `net` is freshly initialised, or holds the weights to start from. Without a team the process
  // trains alone.
  Trainer(const config::RunConfig& config, task::TaskPtr task, std::shared_ptr<models::Net> net,
          std::shared_ptr<step::Team> team = nullptr);

  // Trains to the end, from the folder's newest checkpoint if it has one. Throws DivergedError, and
  // Interrupted after saving when a signal arrived. In a team only the leader has a folder.
  report::Summary run(run::RunFolder* folder);
  report::Summary run(run::RunFolder& folder) { return run(&folder); }

  int64_t batches_per_epoch() const { return size_.per_epoch; }  // of an epoch with all examples
  Forecast forecast() const { return {session_, schedule_, *planner_, *costs_, size_}; }
  const schedule::Schedule& schedule() const { return schedule_; }
  step::Session& session() { return session_; }
  method::Method& method() { return *method_; }
  EpochPlanner& planner() { return *planner_; }
  const method::Costs& costs() const { return *costs_; }

 private:
  void resume(run::RunFolder* folder);

  void one_batch();
  // Takes the batch at the present position, or passes over it; annotated, as the method shows it.
  data::Batch take_batch(const plan::BatchContext& context);
  void log_interval();
  void end_epoch(run::RunFolder* folder);
  void save(run::RunFolder* folder);
  // Of the run that is in the folder.
  run::RunIdentity identity(const run::RunFolder& folder) const;
  // What every process of a team does together, so that one's signal stops all of them.
  int agreed_signal(bool end_of_epoch);

  // Throws DivergedError for a training loss that is too large, naming where it was seen.
  void check_loss(double loss, const std::string& where);
  void check_interval(const task::RunningMetrics::Values& now);
  task::RunningMetrics::Values seen() const { return session_.team->sum(session_.tally.read()); }

  // When the device has done what it was given. Called before the host reads anything from there.
  void stop_clock();
  bool at_end_of_epoch() const { return totals_.next.batch == 0 || progress_->done(); }
  const task::Figure& main_figure() const { return session_.task->figures().front(); }
  RunParts parts() { return {session_, *method_, *planner_, probes_, *policy_, totals_}; }

  step::Session session_;
  schedule::Schedule schedule_;
  std::unique_ptr<method::Method> method_;
  std::unique_ptr<HeldOut> held_out_;
  std::unique_ptr<EpochPlanner> planner_;
  std::unique_ptr<method::Costs> costs_;
  std::array<plan::Work, 2> work_;  // of BP and GP batches
  std::unique_ptr<data::BatchSource> train_source_, test_source_;
  RunSize size_;
  int64_t log_every_ = 1, checkpoint_every_ = 1;
  std::unique_ptr<schedule::Policy> policy_;
  method::Probes probes_;
  std::unique_ptr<StepRunner> steps_;
  std::unique_ptr<RunProgress> progress_;

  RunTotals totals_;
  BatchPosition last_;           // of the batch before
  int64_t batches_of_last_ = 0;  // in its epoch
  schedule::Phase phase_ = schedule::Phase::kBackprop;
  data::Batch last_batch_;  // for the report of a divergence
  LossWatch watch_;

  TrainingClock clock_;
  struct SinceLastLine {
    double from = 0;  // training seconds
    int64_t batches = 0, examples = 0;
  } timed_;
  std::string data_;  // its fingerprint, where there is a folder
  Recorder recorder_;
  TraceWriter trace_;
};

}  // namespace adagp::train
