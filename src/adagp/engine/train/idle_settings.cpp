#include "adagp/engine/train/idle_settings.h"

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/team.h"

namespace adagp::train {

void warn_of_idle_settings(const step::Session& session, const EpochPlanner& planner,
                           const Forecast& forecast) {
  const config::RunConfig& c = session.config;
  if (planner.leaves_nothing_out() && session.team->leads()) {
    core::log_warning(core::cat(c.method, ": leaves out no example in ", c.epochs,
                                " epochs: the run is too short for "
                                "select.anneal, or the rule is set to take all"));
  }
  if (models::has_frozen_blocks(*session.net) && c.weights.empty() &&
      c.model.backbone_weights.empty() && session.team->leads()) {
    core::log_warning(core::cat(c.model.name, ": the frozen backbone (", c.model.duplex.backbone,
                                ") has random weights; give model.backbone_weights the weights "
                                "file of a trained one"));
  }
  const std::string no_gp = forecast.no_gp_batches();
  if (!no_gp.empty() && session.team->leads()) core::log_warning(no_gp);
}

}  // namespace adagp::train
