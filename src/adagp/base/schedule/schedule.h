#pragma once
// When a batch is backpropagated and when its gradients are predicted.

#include <cstdint>
#include <string>
#include <vector>

namespace adagp::schedule {

// What a batch is: BP or GP.
enum class Phase : uint8_t { kBackprop, kPredict };

// One stretch of the schedule: for `epochs`, `predicted` GP batches before every `exact` BP
// batches.
struct Stretch {
  int64_t epochs;     // 0 = until the end
  int64_t predicted;  // k; 0 = all BP
  int64_t exact;      // m; 0 = all GP
};

// A pure function of the position in training. GP comes first in every cycle, and a cycle restarts
// with each epoch.
class Schedule {
 public:
  // "10ep bp, 4ep 4:1, 4ep gp, 1:1" or a name: "auto", "paper", "bp". After the last stretch its
  // ratio goes on. `epochs` is the length of the run E, which only "auto" uses: max(1, E/9) epochs
  // of warm-up, max(1, 2E/45) epochs each of 4:1, 3:1, 2:1 while they fit, then 1:1 (whole numbers,
  // rounded down; "paper" at E = 90).
  // Throws UsageError naming the offending part.
  static Schedule parse(const std::string& text, int64_t epochs);

  Phase at(int64_t epoch, int64_t batch) const;
  // Whether the first `epochs` are the same in both.
  bool begins_like(const Schedule& other, int64_t epochs) const;
  // Epochs before the first stretch with GP batches.
  int64_t warm_up_epochs(int64_t epochs) const;
  int64_t predicted_batches(int64_t epochs, int64_t batches_per_epoch) const;
  double predicted_share(int64_t epochs, int64_t batches_per_epoch) const;
  std::string str() const;  // written out as stretches
  const std::vector<Stretch>& stretches() const { return stretches_; }

 private:
  const Stretch& stretch_at(int64_t epoch) const;

  std::vector<Stretch> stretches_;
};

}  // namespace adagp::schedule
