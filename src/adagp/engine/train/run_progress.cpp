#include "adagp/engine/train/run_progress.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/text.h"

namespace adagp::train {

int64_t RunProgress::nominal_step() const {
  const BatchPosition& at = totals_.next;
  if (!planner_.planned()) return at.epoch * size_.per_epoch + at.batch;
  return plan::nominal_step(planner_.progress(at.epoch, at.batch), size_.total);
}

double RunProgress::share() const {
  return static_cast<double>(nominal_step()) / static_cast<double>(size_.total);
}

int64_t RunProgress::epochs_in_batches() const {
  const BatchPosition& at = totals_.next;
  const int64_t before = at.epoch * size_.per_epoch;
  if (at.batch == 0) return before;
  return before + at.batch * size_.per_epoch / planner_.batches(at.epoch);
}

std::string RunProgress::of_total() const {
  return planner_.planned() ? "" : core::cat(" of ", size_.total);
}

double RunProgress::cost_epochs() const {
  return totals_.macs / (costs_.backprop() * static_cast<double>(size_.per_epoch * size_.examples));
}

void RunProgress::start(double foreseen_macs) {
  foreseen_macs_ = foreseen_macs;
  work_at_start_ = work_done();
  since_start_.restart();
}

// By multiplications where they are known before, because GP batches take less time than BP.
double RunProgress::work_done() const {
  if (!(foreseen_macs_ > 0) || !std::isfinite(totals_.macs)) return share();
  return std::min(1.0, totals_.macs / foreseen_macs_);
}

std::string RunProgress::time_left() const {
  const double done_share = work_done();
  if (done_share <= work_at_start_ || done()) return "";
  const double seconds = since_start_.seconds() * (1 - done_share) / (done_share - work_at_start_);
  return " left " + core::human_seconds(seconds);
}

}  // namespace adagp::train
