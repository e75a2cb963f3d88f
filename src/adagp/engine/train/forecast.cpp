#include "adagp/engine/train/forecast.h"

#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/base/schedule/policy.h"
#include "adagp/engine/method/table.h"

namespace adagp::train {

EpochPlanner::Counts Forecast::counts() const {
  // A budget is a number of batches, all of them BP.
  if (method::find_method(session.config.method).length) {
    return {size.total, 0,
            costs.backprop() * static_cast<double>(size.total) *
                static_cast<double>(session.config.batch)};
  }
  return planner.foreseen(costs);
}

double Forecast::macs() const {
  const auto cheap = method::find_method(session.config.method).cheap;
  if (planner.planned() || cheap == method::Cheap::kDecided) return 0;
  const double all = counts().macs;
  return std::isfinite(all) ? all : 0;
}

std::string Forecast::no_gp_batches() const {
  const config::RunConfig& c = session.config;
  if (method::find_method(c.method).cheap != method::Cheap::kScheduled ||
      core::trim(c.schedule) == "bp")
    return "";
  if (schedule.predicted_batches(c.epochs, size.per_epoch) > 0) return "";
  return core::cat(c.method, ": no GP batch in this run: schedule '", c.schedule, "' for ",
                   c.epochs, c.epochs == 1 ? " epoch" : " epochs", " is '", schedule.str(),
                   "', so every batch is a BP batch; train more epochs, or set another schedule, "
                   "as --schedule 1:1");
}

std::string Forecast::why_not_longer_than(int64_t epochs) const {
  const config::RunConfig& c = session.config;
  const method::MethodEntry entry = method::find_method(c.method);
  if (entry.length) {
    return "the length of method " + c.method + " is a budget of batches, not a number of epochs";
  }
  if (planner.follows_length()) {
    return "what method " + c.method + " does in an epoch follows the number of epochs";
  }
  for (const auto& part : session.parts) {
    if (std::string why = part->why_not_longer(); !why.empty()) return why;
  }
  const auto shorter_schedule = schedule::Schedule::parse(c.schedule, epochs);
  const bool scheduled = entry.cheap == method::Cheap::kScheduled;
  if (scheduled && !shorter_schedule.begins_like(schedule, epochs)) {
    return core::cat("schedule '", c.schedule, "' follows the number of epochs: '",
                     shorter_schedule.str(), "' for ", epochs, ", '", schedule.str(), "' for ",
                     c.epochs);
  }
  const int64_t batches = epochs * size.per_epoch;
  const auto longer = schedule::make_policy(c.policy, c.optim.lr, size.total, size.per_epoch);
  const auto shorter = schedule::make_policy(c.policy, c.optim.lr, batches, size.per_epoch);
  for (int64_t step = 0; step < batches; ++step) {
    if (shorter->lr(step) == longer->lr(step)) continue;
    return core::cat("learning-rate policy ", c.policy.name,
                     " follows the number of epochs: batch ", step + 1, " had a rate of ",
                     core::shortest(shorter->lr(step)), ", in the longer run it has ",
                     core::shortest(longer->lr(step)));
  }
  return "";
}

}  // namespace adagp::train
