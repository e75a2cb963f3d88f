#pragma once
// policy.watch = held-out: the plateau follows the loss of training examples that no step sees.

#include <memory>
#include <optional>

#include "adagp/base/plan/selection.h"
#include "adagp/engine/data/stream/batch.h"
#include "adagp/engine/method/table.h"
#include "adagp/engine/train/step_runner.h"

namespace adagp::train {

class HeldOut {
 public:
  // Without another policy or another loss to watch nothing is held out. Throws UsageError, naming
  // the key, where the run cannot leave examples out.
  HeldOut(const step::Session& session, const method::MethodEntry& method);

  // Which examples an epoch has: the method's rule, for all but the held-out ones.
  const plan::SelectionRule& rule() const { return rule_; }
  // Their mean loss, as an evaluation sees them; nothing where none are held out.
  std::optional<double> loss(StepRunner& steps) const;

 private:
  plan::SelectionRule rule_;
  std::unique_ptr<data::BatchSource> batches_;
};

}  // namespace adagp::train
