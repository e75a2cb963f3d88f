#include "adagp/train/trainer.h"

#include <cmath>

#include <ATen/ATen.h>

#include "adagp/core/duration.h"
#include "adagp/core/error.h"
#include "adagp/core/interrupt.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"
#include "adagp/device/kernels.h"
#include "adagp/train/build.h"
#include "adagp/train/divergence.h"
#include "adagp/train/out_of_memory.h"

namespace adagp::train {

Trainer::Trainer(const Config& config, std::shared_ptr<const Task> task,
                 std::shared_ptr<models::Net> net, std::shared_ptr<Team> team)
    : session_(make_session(config, std::move(task), std::move(net), std::move(team))),
      schedule_(schedule::Schedule::parse(
          find_method(config.method).scheduled ? config.schedule : "bp", config.epochs)),
      probes_(0, 0),
      // Messages to other processes cannot be recorded.
      cheap_graph_("GP", config.graphs && !session_.team),
      eval_graph_("evaluation", config.graphs) {
  const MethodEntry& entry = find_method(config.method);
  if (entry.scheduled) add_summaries(session_);
  method_ = entry.make(session_);

  Task::Skips skips;
  if (!method_->cheap_needs_data()) {
    skips = [schedule = schedule_](int64_t epoch, int64_t position) {
      return schedule.at(epoch, position) == schedule::Phase::kPredict;
    };
  }
  train_source_ = session_.task->batches(config, Use::kTrain, session_.device, skips);
  if (session_.team) train_source_ = session_.team->share(std::move(train_source_));
  test_source_ = session_.task->batches(config, Use::kTest, session_.device);
  per_epoch_ = train_source_->batches_per_epoch();
  total_ = config.method == "equal-time" ? config.equal_time_batches : config.epochs * per_epoch_;
  if (total_ < 1) throw UsageError("equal_time.batches = 0: method equal-time has no budget");
  // A run cut to a budget takes its stairs proportionally earlier.
  const int64_t full = config.epochs * per_epoch_;
  policy_ = optim::make_policy(config.policy, config.optim.lr, total_,
                               std::max<int64_t>(1, per_epoch_ * total_ / full));
  const auto batches = [&](const std::string& text) {
    return core::Duration::parse(text).batches(per_epoch_);
  };
  // The stages of a pipeline would each measure their own layers and nobody the network.
  const bool whole = !session_.team || !session_.team->splits_layers();
  probes_ = Probes(session_.layers.size(), whole ? batches(config.probe_every) : 0);
  for (const Probes::Turn turn : {Probes::Turn{}, {true, false}, {false, true}, {true, true}}) {
    full_graphs_.try_emplace(turn, turn.any() ? "probing BP" : "BP",
                             config.graphs && !session_.team);
  }
  log_every_ = std::max<int64_t>(1, batches(config.log_every));
  checkpoint_every_ = std::max<int64_t>(1, batches(config.checkpoint_every));
  if (entry.predicts) add_predictor(session_, per_epoch_);
}

int64_t Trainer::predicted_batches() const {
  int64_t count = 0;
  for (int64_t s = 0; s < total_; ++s) {
    count += schedule_.at(s / per_epoch_, s % per_epoch_) == schedule::Phase::kPredict ? 1 : 0;
  }
  return count;
}

// Counted from 1, as the progress lines count.
std::string Trainer::position_text(int64_t step) const {
  return core::cat("epoch ", step / per_epoch_ + 1, " batch ", step % per_epoch_ + 1);
}

Summary Trainer::run(RunFolder* folder) {
  std::optional<Checkpoints> checkpoints;
  std::optional<Snapshot> found;
  if (folder != nullptr) {
    checkpoints.emplace(folder->file("checkpoint"));
    found = checkpoints->load_newest();
  }
  if (team() != nullptr) {
    team()->wait_for_leader();
    team()->spread(found);
  }
  if (found) restore(*found);
  if (folder != nullptr) {
    if (found) {
      core::log_info(
          core::cat(folder->path().string(), ": resumed after batch ", step_, " of ", total_));
    }
    open_records(*folder);
  }
  session_.net->train();
  train_source_->seek(step_ / per_epoch_, step_ % per_epoch_);

  int64_t saved = step_;
  start_clock();
  while (step_ < total_) {
    one_batch();
    const bool end_of_epoch = step_ % per_epoch_ == 0 || step_ == total_;
    if (end_of_epoch || step_ % log_every_ == 0) log_interval();
    if (end_of_epoch) end_epoch(folder);

    const int signal = agreed_signal(end_of_epoch);
    if (signal == 0 && step_ - saved < checkpoint_every_ && step_ < total_) continue;
    save(checkpoints ? &*checkpoints : nullptr);
    saved = step_;
    if (signal != 0 && step_ < total_) {
      progress_.clear();
      throw Interrupted(core::cat("interrupted: saved after batch ", step_, " of ", total_,
                                  folder != nullptr ? " in " + folder->path().string() : "",
                                  "; the same command goes on from there"),
                        signal);
    }
    start_clock();
  }
  const Summary result = summary();
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

void Trainer::save(const Checkpoints* checkpoints) {
  stop_clock();
  Tally::Values seen = session_.tally.read();
  if (team() != nullptr) {
    seen = team()->sum(seen);
    team()->collect(session_);
  }
  check_interval(seen);
  probes_.collect();
  Snapshot whole = snapshot(seen);
  if (team() != nullptr) team()->merge(whole);
  if (checkpoints == nullptr) return;
  // A run resumed from here writes only what comes after: what came before must be on disk first.
  records_->flush();
  events_->flush();
  try {
    checkpoints->save(whole);
  } catch (const DivergedError& error) {
    throw DivergedError(core::cat(error.what(), " (", position_text(step_ - 1), ")"));
  }
}

void Trainer::one_batch() {
  const int64_t epoch = step_ / per_epoch_, position = step_ % per_epoch_;
  phase_ = schedule_.at(epoch, position);
  session_.set_lr(policy_->lr(step_));
  StepResult result;
  if (phase_ == schedule::Phase::kBackprop) {
    last_batch_ = train_source_->next();
    result = full_batch(last_batch_);
    ++bp_batches_;
  } else {
    data::Batch batch;
    if (method_->cheap_needs_data()) {
      batch = last_batch_ = train_source_->next();
    } else {
      train_source_->skip();
    }
    result = cheap_batch(batch);
    ++gp_batches_;
  }
  ++step_;
  ++timed_batches_;
  // Reading the loss costs nothing on the CPU; a GPU is only asked at the log interval.
  if (result.loss.defined() && session_.device.is_cpu()) {
    check_loss(result.loss.item<double>(), "at " + position_text(step_ - 1));
  }
}

StepResult Trainer::full_batch(const data::Batch& batch) {
  const auto turn = method_->substitutes() ? probes_.turn(bp_batches_) : Probes::Turn();
  probes_.begin(turn);
  method_->advance(session_);
  const auto step = [&](const data::Batch& given) {
    return method_->exact_step(session_, given, turn.any() ? &probes_ : nullptr);
  };
  StepResult result = run_in_memory(session_, "BP", batch, step, [&] {
    return full_graphs_.at(turn).run(session_, batch, step);
  });
  if (turn.any()) probes_.end();
  return result;
}

StepResult Trainer::cheap_batch(const data::Batch& batch) {
  const auto step = [&](const data::Batch& given) { return method_->cheap_step(session_, given); };
  if (!method_->cheap_does_work()) return step(batch);
  return run_in_memory(session_, "GP", batch, step,
                       [&] { return cheap_graph_.run(session_, batch, step); });
}

void Trainer::stop_clock() {
  device::synchronise(session_.device);
  train_seconds_ += clock_.restart() - probes_.take_seconds();
}

void Trainer::check_interval(const Tally::Values& now) {
  const int64_t first = checked_step_;
  const double count = now.count - checked_.count, sum = now.loss_sum - checked_.loss_sum;
  checked_ = now;
  checked_step_ = step_;
  if (count <= 0) return;
  check_loss(sum / count, first + 1 < step_ ? core::cat("between ", position_text(first), " and ",
                                                        position_text(step_ - 1))
                                            : "at " + position_text(step_ - 1));
}

void Trainer::check_loss(double loss, const std::string& where) {
  if (std::isfinite(loss) && loss <= session_.config.loss_limit) return;
  progress_.clear();
  throw DivergedError(core::cat("diverged: loss ", loss, " (limit ", session_.config.loss_limit,
                                ") ", where, ", ",
                                // A stage of a pipeline cannot run the network.
                                team() != nullptr && team()->splits_layers()
                                    ? "in a pipeline"
                                    : describe_divergence(*session_.net, last_batch_.inputs),
                                ", learning rate ", core::shortest(session_.lr),
                                "; checkpoints made before are kept; lower optim.lr or set clip"));
}

}  // namespace adagp::train
