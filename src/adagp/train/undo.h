#pragma once
// Steps that shall leave no trace.

#include <map>
#include <string>

#include "adagp/train/session.h"

namespace adagp::train {

// What steps change of a session: weights, the norms' statistics, the optimizer's moments. Not the
// predictor: what it learnt stays true.
class Undo {
 public:
  void keep(const Session& session);  // as it is now
  bool kept() const { return kept_; }
  // As it was, in the same memory, so that recorded steps go on with it; forgets it.
  void take_back(Session& session);
  void forget() { kept_ = false; }

  // For a checkpoint; nothing unless kept().
  std::map<std::string, at::Tensor> state() const;
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  std::map<std::string, at::Tensor> copies_;  // memory of the last time serves the next
  bool kept_ = false;
};

// Takes back what happens in its life.
class UndoScope {
 public:
  explicit UndoScope(Session& session) : session_(session) { undo_.keep(session); }
  ~UndoScope() { undo_.take_back(session_); }
  UndoScope(const UndoScope&) = delete;
  UndoScope& operator=(const UndoScope&) = delete;

 private:
  Session& session_;
  Undo undo_;
};

}  // namespace adagp::train
