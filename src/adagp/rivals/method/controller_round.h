#pragma once
// One round of the controller: windows of a candidate beside windows of plain backprop, and what
// they say about the candidate.

#include <cstdint>
#include <optional>
#include <vector>

namespace adagp::method {

// What a round measured. NaN where there is nothing to say.
struct Figures {
  double rate = 0, bp_rate = 0;             // loss progress per second, mean of the windows
  double advantage = 0, low = 0, high = 0;  // mean of the paired differences, one-sided bounds
  double seconds = 0, bp_seconds = 0;       // of a batch
  int64_t pairs = 0;

  // The lower bound lies above zero, by more than rounding.
  bool pays() const;
};

// Rates fall in the course of training, so that figures of different rounds are compared in units
// of plain backprop's rate of their own round (where it made progress at all).
bool higher_low(const Figures& a, const Figures& b);     // a.low > b.low
bool at_least_rate(const Figures& a, const Figures& b);  // a.rate >= b.rate

struct Round {
  int64_t step = -1, k = 0;  // the candidate; k = 0: no round
  std::vector<double> rates, bp_rates;
  double seconds = 0, bp_seconds = 0;
  int64_t batches = 0, bp_batches = 0;

  bool running() const { return k > 0; }
  // Whether the next window is plain backprop: bp, c, c, bp, bp, c, c, bp, ... Two pairs of
  // opposite order cancel a linear drift of the rates; where the last has no partner, bp came
  // first, which while rates fall speaks against the candidate.
  bool bp_is_next() const;
  void add(int64_t batches, double seconds, double loss_before, double loss_after);

  Figures figures(double confidence) const;
  // The figures when the round is over: after `pairs` pairs, as soon as the candidate is clearly
  // worse (3 pairs at least), or at once when a window was no measurement (loss not finite, no
  // time).
  std::optional<Figures> outcome(int64_t pairs, double confidence) const;
};

}  // namespace adagp::method
