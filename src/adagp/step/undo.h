#pragma once
// Steps that shall leave no trace.

#include <utility>
#include <vector>

#include "adagp/step/session.h"

namespace adagp::step {

// When it ends, weights, the norms' statistics and the optimizer's moments are what they were when
// it began, in the same memory.
class UndoScope {
 public:
  explicit UndoScope(Session& session);
  ~UndoScope();
  UndoScope(const UndoScope&) = delete;
  UndoScope& operator=(const UndoScope&) = delete;

 private:
  Session& session_;
  std::vector<std::pair<at::Tensor, at::Tensor>> kept_;  // the tensor and what it was
};

}  // namespace adagp::step
