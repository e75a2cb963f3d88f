#pragma once
// Has the training loss grown beyond the limit? On a GPU the loss of single batches is not read:
// the mean over the batches between two looks is.

#include <optional>
#include <string>

#include "adagp/engine/step/session.h"
#include "adagp/engine/train/totals.h"

namespace adagp::train {

class LossWatch {
 public:
  // The sums so far, and the batch that comes next.
  void begin(const task::RunningMetrics::Values& sums, const BatchPosition& next) {
    seen_ = sums;
    from_ = next;
  }
  void forget_sums() { seen_ = {}; }  // they begin again from zero

  struct Mean {
    double loss;
    std::string where;  // "at epoch 1 batch 3", "between epoch 1 batch 3 and ..."
  };
  // Of the batches since the last call, the last of which is `last`; none: there were none.
  std::optional<Mean> mean_since_last(const task::RunningMetrics::Values& now,
                                      const BatchPosition& last, const BatchPosition& next);

 private:
  task::RunningMetrics::Values seen_;
  BatchPosition from_;
};

bool within_limit(double loss, const config::RunConfig& config);
// Throws DivergedError that names the first layer whose output on this batch is not finite.
[[noreturn]] void throw_diverged(double loss, const std::string& where,
                                 const step::Session& session, const data::Batch& batch);

}  // namespace adagp::train
