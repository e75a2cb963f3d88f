#include "adagp/train/trainer.h"

#include <cmath>

#include <ATen/ATen.h>

#include "adagp/core/duration.h"
#include "adagp/core/error.h"
#include "adagp/core/interrupt.h"
#include "adagp/core/log.h"
#include "adagp/core/stopped_time.h"
#include "adagp/core/text.h"
#include "adagp/device/kernels.h"
#include "adagp/step/divergence.h"
#include "adagp/step/out_of_memory.h"
#include "adagp/train/build.h"

namespace adagp::train {

Trainer::Trainer(const config::RunConfig& config, std::shared_ptr<const task::Task> task,
                 std::shared_ptr<models::Net> net, std::shared_ptr<step::Team> team)
    : session_(step::make_session(config, std::move(task), std::move(net), std::move(team))),
      schedule_(schedule::Schedule::parse(
          method::find_method(config.method).cheap == method::Cheap::kScheduled ? config.schedule
                                                                                : "bp",
          config.epochs)),
      probes_(0, 0),
      eval_graph_("evaluation", config.graphs) {
  const method::MethodEntry entry = method::find_method(config.method);
  if (entry.cheap != method::Cheap::kNone) step::add_summaries(session_);
  method_ = entry.make(session_);
  costs_ = std::make_unique<method::Costs>(*session_.net, *session_.task, config, method_->sides());
  planner_ = std::make_unique<EpochPlanner>(session_, *method_, schedule_, entry.select);

  task::Task::Skips skips;
  if (!method_->cheap_needs_data()) {
    skips = [schedule = schedule_](int64_t epoch, int64_t position) {
      return schedule.at(epoch, position) == schedule::Phase::kPredict;
    };
  }
  train_source_ = session_.task->batches(config, task::Use::kTrain, session_.device, skips,
                                         planner_->planner());
  if (session_.team) train_source_ = session_.team->share(std::move(train_source_));
  test_source_ = session_.task->batches(config, task::Use::kTest, session_.device);
  per_epoch_ = train_source_->batches_per_epoch();
  planner_->set_usual_batches(per_epoch_);
  total_ = config.method == "equal-time" ? config.equal_time_batches : config.epochs * per_epoch_;
  if (total_ < 1) throw UsageError("equal_time.batches = 0: method equal-time has no budget");
  // A run cut to a budget takes its stairs proportionally earlier.
  const auto epoch = static_cast<double>(per_epoch_),
             full = epoch * static_cast<double>(config.epochs);
  policy_ = schedule::make_policy(
      config.policy, config.optim.lr, total_,
      std::max<int64_t>(1, static_cast<int64_t>(epoch * static_cast<double>(total_) / full)));
  const auto batches = [&](const std::string& text) {
    return core::Duration::parse(text).batches(per_epoch_);
  };
  // The stages of a pipeline would each measure their own layers and nobody the network.
  const bool whole = !session_.team || !session_.team->splits_layers();
  probes_ = method::Probes(session_.layers.size(), whole ? batches(config.probe_every) : 0);
  log_every_ = std::max<int64_t>(1, batches(config.log_every));
  checkpoint_every_ = std::max<int64_t>(1, batches(config.checkpoint_every));
  if (method::needs_predictor(config)) step::add_predictor(session_, per_epoch_);
}

std::string Trainer::Place::text() const {
  return core::cat("epoch ", epoch + 1, " batch ", position + 1);
}

// The batch this would be if every epoch had all examples.
int64_t Trainer::nominal_step() const {
  if (!planner_->planned()) return at_.epoch * per_epoch_ + at_.position;
  const double share = planner_->progress(at_.epoch, at_.position);
  // Rounding must not lose a batch: shares are sums of doubles.
  return static_cast<int64_t>(share * static_cast<double>(total_) + 1e-6);
}

int64_t Trainer::epochs_in_batches() const {
  const int64_t before = at_.epoch * per_epoch_;
  if (at_.position == 0) return before;
  return before + at_.position * per_epoch_ / planner_->batches(at_.epoch);
}

double Trainer::fraction() const {
  return static_cast<double>(nominal_step()) / static_cast<double>(total_);
}

double Trainer::cost_epochs() const {
  return macs_ / (costs_->backprop() * static_cast<double>(per_epoch_ * session_.config.batch));
}

bool Trainer::done() const {
  return nominal_step() >= total_;
}

std::string Trainer::of_total() const {
  return planner_->planned() ? "" : core::cat(" of ", total_);
}

report::Summary Trainer::run(run::RunFolder* folder) {
  std::optional<run::Snapshot> found;
  if (folder != nullptr && !folder->replaces()) {
    found = run::Checkpoints(folder->file("checkpoint")).load_newest();
    if (folder->shorter_epochs()) extend(*folder, found.has_value());
  }
  if (team() != nullptr) {
    team()->wait_for_leader();
    team()->spread(found);
  }
  if (found) restore(*found);
  if (folder != nullptr) {
    if (found) {
      core::log_info(
          core::cat(folder->path().string(), ": resumed after batch ", step_, of_total()));
    }
    open_records(*folder);
  }
  if (planner_->leaves_nothing_out()) {
    core::log_warning(core::cat(session_.config.method, ": leaves out no example in ",
                                session_.config.epochs,
                                " epochs: the run is too short for "
                                "select.anneal, or the rule is set to take all"));
  }
  const std::string no_gp = no_gp_batches();
  if (!no_gp.empty() && (team() == nullptr || team()->leads())) core::log_warning(no_gp);
  session_.net->train();
  session_.trained_seconds = [this] { return train_seconds_ + clock_.seconds(); };
  rehearse();
  train_source_->seek(at_.epoch, at_.position);

  const core::StoppedTimeWatch watch;
  stopped_before_ = core::stopped_seconds() + core::suspended_seconds();
  int64_t saved = epochs_in_batches();
  start_estimate();
  start_clock();
  while (!done()) {
    one_batch();
    const bool end_of_epoch = at_end_of_epoch();
    if (end_of_epoch || step_ % log_every_ == 0) log_interval();
    if (end_of_epoch) end_epoch(folder);

    const int signal = agreed_signal(end_of_epoch);
    if (signal == 0 && epochs_in_batches() - saved < checkpoint_every_ && !done()) continue;
    save(folder);
    saved = epochs_in_batches();
    if (signal != 0 && !done()) {
      progress_.clear();
      throw Interrupted(core::cat("interrupted: saved after batch ", step_, of_total(),
                                  folder != nullptr ? " in " + folder->path().string() : ""),
                        signal);
    }
    start_clock();
  }
  const report::Summary result = summary();
  if (folder != nullptr) {
    write_weights(folder->file("weights.safetensors"));
    folder->finish(result);
  }
  return result;
}

int Trainer::agreed_signal(bool end_of_epoch) {
  const int own = core::pending_signal();
  if (team() == nullptr) return own;
  // GP batches stream through a pipeline; asking after each would make the stages wait.
  if (phase_ == schedule::Phase::kPredict && !end_of_epoch) return 0;
  return team()->agree(own);
}

void Trainer::save(run::RunFolder* folder) {
  stop_clock();
  task::RunningMetrics::Values seen = session_.tally.read();
  if (team() != nullptr) {
    seen = team()->sum(seen);
    team()->collect(session_);
  }
  check_interval(seen);
  probes_.collect();
  run::Snapshot whole = snapshot(seen);
  if (team() != nullptr) team()->merge(whole);
  if (folder == nullptr) return;
  // A run resumed from here writes only what comes after: what came before must be on disk first.
  records_->flush();
  events_->flush();
  try {
    run::Checkpoints(folder->file("checkpoint")).save(whole);
  } catch (const DivergedError& error) {
    throw DivergedError(core::cat(error.what(), " (", last_.text(), ")"));
  }
  folder->saved();
  if (!folder->moved()) return;
  // Going on would be right for the run and wrong for whoever looks for it at the old place.
  progress_.clear();
  throw Error(core::cat("the run folder was moved while the run worked in it: saved after batch ",
                        step_, of_total(), " in ", folder->path().string(),
                        "; move it back and give the same command again, or name the new place "
                        "with -o"));
}

void Trainer::one_batch() {
  method::BatchContext moment = planner_->moment(at_.epoch, at_.position);
  phase_ = moment.phase = method_->begin_batch(session_, moment);
  session_.set_lr(rate(moment));
  session_.first_block = method_->frozen_blocks(moment);
  const data::Batch batch = take_batch(moment);
  const bool full = phase_ == schedule::Phase::kBackprop;
  const step::StepResult result = full ? full_batch(batch) : cheap_batch(batch);
  ++(full ? bp_batches_ : gp_batches_);
  const double macs = method_->cost(session_, *costs_, moment,
                                    batch.empty() ? session_.config.batch : batch.size());
  method_->end_batch(session_, macs);
  macs_ += macs + method_->take_other_cost(*costs_);
  ++step_;
  ++timed_batches_;
  timed_examples_ += batch.empty() ? session_.config.batch : batch.size();
  last_ = at_;
  batches_of_last_ = planner_->batches(at_.epoch);
  if (++at_.position == batches_of_last_) at_ = {at_.epoch + 1, 0};
  tell_decisions();
  // Reading the loss costs nothing on the CPU; a GPU is only asked at the log interval.
  if (result.loss.defined() && session_.device.is_cpu()) {
    check_loss(result.loss.item<double>(), "at " + last_.text());
  }
}

double Trainer::rate(const method::BatchContext& moment) const {
  return policy_->lr(nominal_step()) * method_->rate_factor(session_, moment);
}

data::Batch Trainer::take_batch(const method::BatchContext& moment) {
  if (moment.phase == schedule::Phase::kPredict && !method_->cheap_needs_data()) {
    train_source_->skip();
    return {};
  }
  data::Batch batch = train_source_->next();
  planner_->annotate(batch);
  last_batch_ = method_->shown(batch, moment);
  return last_batch_;
}

void Trainer::stop_clock() {
  device::synchronise(session_.device);
  train_seconds_ += clock_.restart() - probes_.take_seconds();
  note_stopped();
}

void Trainer::note_stopped() {
  constexpr double kWorthTelling = 0.5;
  const double now = core::stopped_seconds() + core::suspended_seconds();
  const double seconds = now - stopped_before_;
  if (seconds < kWorthTelling) return;
  stopped_before_ = now;
  stopped_seconds_ += seconds;
  progress_.clear();
  core::log_info(core::cat("the process stood still for ", core::human_seconds(seconds),
                           " (stopped, or the machine suspended): not counted as training time"));
  if (records_) records_->write({{"kind", "stopped"}, {"step", step_}, {"seconds", seconds}});
}

void Trainer::check_interval(const task::RunningMetrics::Values& now) {
  const Place first = std::exchange(checked_from_, at_);
  const double count = now.count - checked_.count, sum = now.loss_sum - checked_.loss_sum;
  checked_ = now;
  if (count <= 0) return;
  const bool several = first.epoch != last_.epoch || first.position != last_.position;
  check_loss(sum / count, several ? core::cat("between ", first.text(), " and ", last_.text())
                                  : "at " + last_.text());
}

void Trainer::check_loss(double loss, const std::string& where) {
  if (std::isfinite(loss) && loss <= session_.config.loss_limit) return;
  progress_.clear();
  throw DivergedError(core::cat("diverged: loss ", loss, " (limit ", session_.config.loss_limit,
                                ") ", where, ", ",
                                // A stage of a pipeline cannot run the network.
                                team() != nullptr && team()->splits_layers()
                                    ? "in a pipeline"
                                    : step::describe_divergence(*session_.net, last_batch_.inputs),
                                ", learning rate ", core::shortest(session_.lr),
                                "; checkpoints made before are kept; lower optim.lr or set clip"));
}

}  // namespace adagp::train
