#include "adagp/engine/train/evaluate_together.h"

#include <string>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/saved_number.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/step/team.h"

namespace adagp::train {

void read_told(const std::string& text, task::Evaluation& found) {
  const std::string where = "evaluation, as the leader tells it";
  try {
    const auto told = nlohmann::json::parse(text);
    found.loss = core::saved_number(told.at("loss").get<std::string>(), where + ": loss");
    for (const auto& [name, value] : told.at("figures").items()) {
      found.figures[name] =
          core::saved_number(value.get<std::string>(), core::cat(where, ": ", name));
    }
  } catch (const nlohmann::json::exception& error) {
    throw DataError(core::cat(where, ": ", core::plain_message(error)));
  }
}

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
  nlohmann::json told{{"loss", core::shortest(found.loss)}, {"figures", nlohmann::json::object()}};
  for (const auto& [name, value] : found.figures) told["figures"][name] = core::shortest(value);
  read_told(team.spread(told.dump()), found);
  return found;
}

}  // namespace adagp::train
