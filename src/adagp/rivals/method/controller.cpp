#include "adagp/rivals/method/controller.h"

#include <algorithm>
#include <set>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::method {
namespace {

// In rounds. A check replaces half of a round by plain backprop, so that checks grow rarer while
// what is in use proves itself, up to a bound: it may turn bad later.
constexpr int64_t kFirstCheck = 4, kRarestCheck = 16;
constexpr int64_t kLongestWait = int64_t{1} << 40;  // batches: never, without overflowing

void require(bool good, const char* name, const std::string& got, const char* range) {
  if (good) return;
  throw UsageError(core::cat("auto: ", name, " = ", got, ": expected ", range));
}

void check_options(const ControllerOptions& o) {
  require(o.window >= 1 && o.window <= 1000000, "window", core::cat(o.window),
          "1 to 1000000 batches");
  require(o.pairs >= 3 && o.pairs <= 1000, "pairs", core::cat(o.pairs), "3 to 1000 windows");
  require(o.most >= 1 && o.most <= 1000, "most", core::cat(o.most),
          "1 to 1000 cheap batches to an exact one");
  require(o.confidence > 0.5 && o.confidence < 1, "confidence", core::shortest(o.confidence),
          "more than 0.5 and less than 1");
  require(o.probe_share > 0 && o.probe_share <= 1, "probe_share", core::shortest(o.probe_share),
          "more than 0 and at most 1");
  std::set<std::string> seen;
  for (const std::string& step : o.steps) {
    require(!step.empty(), "steps", "[" + core::join(o.steps, ", ") + "]",
            "names that are not empty");
    require(seen.insert(step).second, "steps", "[" + core::join(o.steps, ", ") + "]",
            "each step once");
  }
}

}  // namespace

bool is_cheap(const Window& window, int64_t place) {
  return window.k > 0 && place % (window.k + 1) < window.k;
}

Controller::Controller(ControllerOptions options) : options_(std::move(options)) {
  check_options(options_);
  now_.trials.assign(options_.steps.size(), {0, round_length()});
  plan();
}

int64_t Controller::length(int64_t k) const {
  const int64_t cycle = k + 1;
  return (options_.window + cycle - 1) / cycle * cycle;
}

bool Controller::checking() const {
  return now_.round.step == now_.step && now_.round.k == now_.k;
}

std::vector<Decision> Controller::finish(double seconds, double loss_before, double loss_after) {
  now_.batches += window_.batches;
  std::vector<Decision> decided;
  if (now_.round.running()) {
    if (window_.k > 0 && !checking()) now_.spent += window_.batches;
    now_.round.add(window_.batches, seconds, loss_before, loss_after);
    if (const auto f = now_.round.outcome(options_.pairs, options_.confidence)) {
      const Round round = now_.round;
      const std::string what = checking() ? settle_check(*f) : settle_trial(*f);
      now_.round = {};
      decided.push_back({now_.batches, what, options_.steps[static_cast<size_t>(round.step)],
                         round.step == now_.step ? now_.k : 0, round.k, f->rate, f->bp_rate,
                         f->advantage, f->low, f->seconds, f->bp_seconds, f->pairs});
    }
  }
  plan();
  return decided;
}

void Controller::plan() {
  if (!now_.round.running()) begin_round();
  const Round& round = now_.round;
  if (!round.running()) {
    window_ = {now_.step, now_.k, length(now_.k), false};
  } else if (round.bp_is_next()) {
    window_ = {-1, 0, length(0), true};
  } else {
    window_ = {round.step, round.k, length(round.k), true};
  }
}

void Controller::begin_round() {
  if (now_.batches < now_.changed + round_length()) return;
  // First of all: after a "lower" nothing is known yet of the k in use.
  if (now_.k > 0 && now_.batches >= now_.check.at) {
    now_.round.step = now_.step;
    now_.round.k = now_.k;
    return;
  }
  int64_t step = -1, k = 0, due = now_.batches + 1;
  for (int64_t i = 0; i < static_cast<int64_t>(options_.steps.size()); ++i) {
    const bool used = i == now_.step;
    const int64_t at = used ? now_.raise.at : now_.trials[static_cast<size_t>(i)].at;
    if (at >= due || (used && now_.k == options_.most)) continue;
    step = i;
    k = used ? now_.k + 1 : 1;
    due = at;
  }
  if (step < 0) return;
  // Affordable to its end, so that the share holds at every batch of the round.
  const int64_t cost = options_.pairs * length(k);
  const auto share = static_cast<double>(now_.spent + cost);
  if (share > options_.probe_share * static_cast<double>(now_.batches + cost)) return;
  now_.round.step = step;
  now_.round.k = k;
}

void Controller::back_off(Due& due) const {
  due.wait = std::min(2 * due.wait, kLongestWait);
  due.at = now_.batches + due.wait;
}

void Controller::use(int64_t step, int64_t k) {
  if (now_.step >= 0 && step != now_.step) {
    Due& left = now_.trials[static_cast<size_t>(now_.step)];
    left.at = now_.batches + left.wait;
  }
  now_.step = step;
  now_.k = k;
  now_.changed = now_.batches;
  now_.check.wait = kFirstCheck * round_length();
  now_.check.at = now_.batches + now_.check.wait;
}

std::string Controller::settle_check(const Figures& figures) {
  if (figures.pays()) {
    now_.reference = figures;
    now_.check.wait = std::min(2 * now_.check.wait, kRarestCheck * round_length());
    now_.check.at = now_.batches + now_.check.wait;
    return "keep";
  }
  if (now_.k > 1 && figures.advantage >= 0) {
    use(now_.step, now_.k - 1);
    now_.check.at = now_.batches;
    back_off(now_.raise);
    return "lower";
  }
  const auto dropped = static_cast<size_t>(now_.step);
  use(-1, 0);
  back_off(now_.trials[dropped]);
  return "drop";
}

std::string Controller::settle_trial(const Figures& figures) {
  const Round& round = now_.round;
  const bool raise = round.step == now_.step;
  const bool better = now_.k == 0 || (raise ? at_least_rate(figures, now_.reference)
                                            : higher_low(figures, now_.reference));
  if (!figures.pays() || !better) {
    back_off(raise ? now_.raise : now_.trials[static_cast<size_t>(round.step)]);
    return "reject";
  }
  now_.spent -= round.batches;
  use(round.step, round.k);
  now_.reference = figures;
  now_.raise = {now_.batches, round_length()};
  return raise ? "raise" : "adopt";
}

}  // namespace adagp::method
