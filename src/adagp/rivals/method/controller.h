#pragma once
// Which cheap step pays, decided while training: windows of a candidate alternate with windows of
// plain backprop, the held-out loss before and after each gives its progress per second, and a
// candidate is used only while the lower confidence bound of its advantage is above zero.
//
// Pure logic: it is told times and losses and answers with what to do next, so that it can be
// played through with made-up ones, and its state is all a checkpoint needs.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/rivals/method/controller_round.h"

namespace adagp::method {

struct ControllerOptions {
  std::vector<std::string> steps;  // names of the cheap steps that may be used
  int64_t window = 20;             // batches of a window, rounded up to whole cycles
  int64_t pairs = 6;               // windows of a candidate in one round, each beside one of bp
  int64_t most = 4;                // largest k: cheap batches to one exact batch
  double confidence = 0.95;        // one-sided, of a lower bound
  // Of all batches so far, at most this share belongs to trials that did not lead to adoption. It
  // also sets the pace: the first trial ends no earlier than batch pairs * window / probe_share.
  double probe_share = 0.03;
};

// What the batches of the window that begins now are: cycles of k cheap batches and one exact.
struct Window {
  int64_t step = -1;  // place among the steps; -1: plain backprop
  int64_t k = 0;      // 0: plain backprop
  int64_t batches = 0;
  // The held-out loss is wanted before and after it. Windows of a round follow on each other: the
  // loss after one serves as the loss before the next.
  bool measured = false;

  bool operator==(const Window&) const = default;
};

// What is done with batch number `place` of a window: the exact one is the last of each cycle.
bool is_cheap(const Window& window, int64_t place);

// What came out of a round, with the numbers it rests on.
struct Decision {
  int64_t batch = 0;  // of the run, when it was made
  std::string what;   // "adopt", "raise", "lower", "drop" change something; "keep", "reject" do not
  std::string step;
  int64_t k = 0;                       // of this step from now on; adopted, it is the only one used
  int64_t tried = 0;                   // the k that the numbers are about
  double rate = 0, bp_rate = 0;        // loss progress per second
  double advantage = 0, low = 0;       // mean of the paired differences, its lower bound
  double seconds = 0, bp_seconds = 0;  // of a batch
  int64_t pairs = 0;
};
nlohmann::json to_json(const Decision& decision);  // what is not finite becomes null

// Rounds are of two kinds. A trial takes a step that is not in use at k = 1, or the one in use at
// k + 1; its candidate's windows are paid from `probe_share`. A check takes what is in use: where
// its lower bound is not above zero but its mean is, the k before (whose own bound was) is used and
// checked next, otherwise nothing. After
// every change a whole round's length of batches passes before the next round, so that no two
// changes are nearer than that.
class Controller {
 public:
  // Throws UsageError for options out of range.
  explicit Controller(ControllerOptions options);

  // The window that begins now; the same until finish() is called.
  const Window& window() const { return window_; }
  // Ends it. `seconds`: of its batches; the losses only count when it was measured. Returns what
  // was decided because of it.
  std::vector<Decision> finish(double seconds, double loss_before, double loss_after);

  // What is used outside of trials.
  int64_t step() const { return now_.step; }
  int64_t k() const { return now_.k; }

  nlohmann::json state() const;
  void load_state(const nlohmann::json& state);  // throws DataError when it is not one of state()

 private:
  // When something is due again, and how long the wait for it was.
  struct Due {
    int64_t at = 0, wait = 0;  // batches
  };
  struct State {
    int64_t batches = 0;  // of the run so far
    int64_t spent = 0;    // batches of candidates in trials without adoption
    int64_t step = -1, k = 0;
    int64_t changed = 0;      // when the last change was made
    Figures reference;        // of the last round of what is in use
    Due check, raise;         // of what is in use
    std::vector<Due> trials;  // of each step
    Round round;
  };

  int64_t length(int64_t k) const;  // of a window, in batches
  int64_t round_length() const { return 2 * options_.pairs * options_.window; }
  bool checking() const;  // the running round is of what is in use
  void begin_round();
  void plan();  // the next window
  void back_off(Due& due) const;
  void use(int64_t step, int64_t k);
  std::string settle_check(const Figures& figures);
  std::string settle_trial(const Figures& figures);
  State read_state(const nlohmann::json& state) const;

  ControllerOptions options_;
  State now_;
  Window window_;
};

}  // namespace adagp::method
