#pragma once
// Steps that shall leave no trace.

#include <utility>
#include <vector>

#include "adagp/engine/step/restoration.h"

namespace adagp::step {

// After end(), weights, the norms' statistics and the optimizer's moments are what they were when
// it began, in the same memory, also after an exception on the way.
class UndoScope {
 public:
  explicit UndoScope(Session& session);
  UndoScope(const UndoScope&) = delete;
  UndoScope& operator=(const UndoScope&) = delete;
  void end() { undo_.now(); }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> kept_;  // the tensor and what it was
  Restoration undo_;                                     // reads kept_
};

}  // namespace adagp::step
