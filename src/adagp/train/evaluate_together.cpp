#include "adagp/train/evaluate_together.h"

#include <string>

#include <nlohmann/json.hpp>

#include "adagp/core/text.h"
#include "adagp/step/team.h"

namespace adagp::train {

task::Evaluation evaluate_together(step::Session& session, StepRunner& steps,
                                   data::BatchSource& source, bool thorough) {
  task::EvaluationRequest request;
  request.thorough = thorough;
  step::Team& team = *session.team;
  team.collect(session);
  task::Evaluation found;
  if (team.leads()) found = steps.evaluate(source, request);
  if (team.solo()) return found;
  team.wait_for_leader();
  nlohmann::json told{{"loss", core::shortest(found.loss)}};
  for (const auto& [name, value] : found.figures) told["figures"][name] = core::shortest(value);
  told = nlohmann::json::parse(team.spread(told.dump()));
  found.loss = std::stod(told.at("loss").get<std::string>());
  for (const auto& [name, value] : told.at("figures").items()) {
    found.figures[name] = std::stod(value.get<std::string>());
  }
  return found;
}

}  // namespace adagp::train
