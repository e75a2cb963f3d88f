#pragma once
// The session's sinks, while a batch's forward pass runs.

#include <optional>

#include "adagp/engine/nn/reversible.h"
#include "adagp/engine/nn/tap.h"
#include "adagp/engine/predictor/activations.h"
#include "adagp/engine/step/session.h"

namespace adagp::step {

class Taps {
 public:
  // Starts a batch that runs in `parts` micro-batches.
  Taps(Session& session, int64_t parts)
      : summaries_(*session.summaries),
        fan_({session.summaries.get(), session.activations.get()}),
        scope_(session.activations ? static_cast<nn::TapSink&>(fan_) : summaries_) {
    summaries_.begin(parts);
    if (!session.activations) return;
    session.activations->clear();
    keep_.emplace();  // gradients of outputs are wanted
  }
  // After the last part: what was summarised is then complete, but for what somebody took.
  void end() { summaries_.end(); }

 private:
  predictor::Summaries& summaries_;
  predictor::TapFan fan_;
  nn::TapScope scope_;
  std::optional<nn::KeepActivations> keep_;
};

}  // namespace adagp::step
