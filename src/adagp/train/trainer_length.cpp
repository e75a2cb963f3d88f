// What a Trainer knows of the run's length: what it will have, how long it still takes, and whether
// a shorter run may become this one.

#include <algorithm>
#include <cmath>

#include "adagp/core/error.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"
#include "adagp/train/trainer.h"

namespace adagp::train {

EpochPlanner::Counts Trainer::foreseen() const {
  // A budget is a number of batches, all of them BP.
  if (session_.config.method == "equal-time") {
    return {total_, 0,
            costs_->backprop() * static_cast<double>(total_) *
                static_cast<double>(session_.config.batch)};
  }
  return planner_->foreseen(*costs_);
}

std::string Trainer::no_gp_batches() const {
  const config::RunConfig& c = session_.config;
  if (method::find_method(c.method).cheap != method::Cheap::kScheduled ||
      core::trim(c.schedule) == "bp")
    return "";
  if (schedule_.predicted_batches(c.epochs, per_epoch_) > 0) return "";
  return core::cat(c.method, ": no GP batch in this run: schedule '", c.schedule, "' for ",
                   c.epochs, c.epochs == 1 ? " epoch" : " epochs", " is '", schedule_.str(),
                   "', so every batch is a BP batch; train more epochs, or set another schedule, "
                   "as --schedule 1:1");
}

std::string Trainer::why_not_longer_than(int64_t epochs) const {
  const config::RunConfig& c = session_.config;
  if (c.method == "equal-time") {
    return "the length of method equal-time is a budget of batches, not a number of epochs";
  }
  if (planner_->follows_length()) {
    return "what method " + c.method + " does in an epoch follows the number of epochs";
  }
  const auto shorter_schedule = schedule::Schedule::parse(c.schedule, epochs);
  const bool scheduled = method::find_method(c.method).cheap == method::Cheap::kScheduled;
  if (scheduled && !shorter_schedule.begins_like(schedule_, epochs)) {
    return core::cat("schedule '", c.schedule, "' follows the number of epochs: '",
                     shorter_schedule.str(), "' for ", epochs, ", '", schedule_.str(), "' for ",
                     c.epochs);
  }
  const int64_t batches = epochs * per_epoch_;
  const auto longer = schedule::make_policy(c.policy, c.optim.lr, total_, per_epoch_);
  const auto shorter = schedule::make_policy(c.policy, c.optim.lr, batches, per_epoch_);
  for (int64_t step = 0; step < batches; ++step) {
    if (shorter->lr(step) == longer->lr(step)) continue;
    return core::cat("learning-rate policy ", c.policy.name,
                     " follows the number of epochs: batch ", step + 1, " had a rate of ",
                     core::shortest(shorter->lr(step)), ", in the longer run it has ",
                     core::shortest(longer->lr(step)));
  }
  return "";
}

void Trainer::extend(run::RunFolder& folder, bool has_checkpoint) const {
  const int64_t before = *folder.shorter_epochs();
  std::string why = why_not_longer_than(before);
  // A run that was stopped before its first checkpoint begins anew.
  if (why.empty() && !has_checkpoint && core::fs::exists(folder.file("summary.json"))) {
    why = "the folder has no checkpoint to go on from";
  }
  if (!why.empty()) {
    throw UsageError(core::cat(
        folder.path().string(), ": holds a run with another configuration (epochs): ", before,
        ", not ", session_.config.epochs, ", and it cannot be extended: ", why,
        "; choose another folder, or start anew with --overwrite"));
  }
  folder.extend(session_.config);
  core::log_info(core::cat(folder.path().string(), ": extended from ", before, " to ",
                           session_.config.epochs, " epochs"));
}

// By multiplications where they can be told before, because GP batches take less time than BP.
double Trainer::work_done() const {
  return foreseen_macs_ > 0 && std::isfinite(macs_) ? std::min(1.0, macs_ / foreseen_macs_)
                                                    : fraction();
}

void Trainer::start_estimate() {
  const bool told_before =
      !planner_->planned() &&
      method::find_method(session_.config.method).cheap != method::Cheap::kDecided;
  foreseen_macs_ = told_before ? foreseen().macs : 0;
  if (!std::isfinite(foreseen_macs_)) foreseen_macs_ = 0;
  work_at_start_ = work_done();
  since_start_.restart();
}

std::string Trainer::time_left() const {
  const double share = work_done();
  if (share <= work_at_start_ || done()) return "";
  const double seconds = since_start_.seconds() * (1 - share) / (share - work_at_start_);
  return " left " + core::human_seconds(seconds);
}

}  // namespace adagp::train
