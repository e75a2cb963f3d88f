#pragma once
// What is known before a run starts: its batches and cost, and whether a shorter run can be
// extended to it.

#include <string>

#include "adagp/base/schedule/schedule.h"
#include "adagp/engine/method/costs.h"
#include "adagp/engine/train/epoch_planner.h"
#include "adagp/engine/train/totals.h"

namespace adagp::train {

struct Forecast {
  const step::Session& session;
  const schedule::Schedule& schedule;
  const EpochPlanner& planner;
  const method::Costs& costs;
  const RunSize& size;

  // BP and GP batches of the run and their multiplications, as far as can be said before it.
  EpochPlanner::Counts counts() const;
  // The multiplications alone, 0 where the run decides on the way.
  double macs() const;
  // A warning when the method has cheap batches and the schedule gives it none; empty otherwise.
  std::string no_gp_batches() const;
  // Why a run of `epochs` is not the beginning of this one: what it did depends on its length.
  // Empty: going on from its end gives what a run of this length gives.
  std::string why_not_longer_than(int64_t epochs) const;
};

}  // namespace adagp::train
