#include "adagp/engine/train/loss_watch.h"

#include <cmath>
#include <utility>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/divergence.h"
#include "adagp/engine/step/team.h"

namespace adagp::train {

std::optional<LossWatch::Mean> LossWatch::mean_since_last(const task::RunningMetrics::Values& now,
                                                          const BatchPosition& last,
                                                          const BatchPosition& next) {
  const BatchPosition first = std::exchange(from_, next);
  const double count = now.count - seen_.count, sum = now.loss_sum - seen_.loss_sum;
  seen_ = now;
  if (count <= 0) return {};
  return Mean{sum / count, first == last
                               ? "at " + last.text()
                               : core::cat("between ", first.text(), " and ", last.text())};
}

bool within_limit(double loss, const config::RunConfig& config) {
  return std::isfinite(loss) && loss <= config.loss_limit;
}

void throw_diverged(double loss, const std::string& where, const step::Session& session,
                    const data::Batch& batch) {
  throw DivergedError(core::cat(
      "diverged: loss ", loss, " (limit ", session.config.loss_limit, ") ", where, ", ",
      // A stage of a pipeline cannot run the network.
      session.team->splits_layers() ? "in a pipeline"
                                    : step::describe_divergence(*session.net, batch.inputs),
      ", learning rate ", core::shortest(session.lr),
      "; checkpoints made before are kept; lower optim.lr or set clip"));
}

}  // namespace adagp::train
