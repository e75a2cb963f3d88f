#include "adagp/engine/train/run_state.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/step/generators.h"
#include "adagp/engine/step/team.h"

namespace adagp::train {

run::Snapshot take_snapshot(const RunParts& run, const task::RunningMetrics::Values& seen) {
  const step::Session& session = run.session;
  run::Snapshot s;
  s.step = run.totals.step;
  s.put("net", run::state_dict(*session.net));
  s.put("optimizer", session.optimizer->state());
  if (session.predictor) s.put("predictor", session.predictor->state());
  s.put("method", run.method.state());
  for (const auto& part : session.parts) s.put(part->name(), part->state());
  s.put("team", session.team->state());
  s.put("examples", run.planner.state());
  s.put("probes", run.probes.state());
  if (session.predictor_loss.defined()) s.tensors["loss.predictor"] = session.predictor_loss;
  s.put("random", step::generator_state(*session.team, session.device));
  s.state = run.totals.to_json();
  s.state["policy"] = run.policy.state();
  s.state["tally"] = {seen.loss_sum, seen.first, seen.five, seen.count};
  return s;
}

namespace {

// A process of a team takes from the whole run's state what it moves.
io::TensorMap own_moments(const step::Session& session, io::TensorMap moments) {
  if (session.team->solo()) return moments;
  const auto own = session.optimizer->state();
  std::erase_if(moments, [&](const auto& entry) { return !own.contains(entry.first); });
  return moments;
}

// Frozen layers have bf16 copies, too, but are none of the optimizer's.
void refresh_frozen_copies(models::Net& net) {
  const at::NoGradGuard no_grad;
  for (nn::WeightLayer* layer : nn::collect(net)) {
    if (!layer->frozen()) continue;
    if (layer->bf16_weight.defined()) layer->bf16_weight.copy_(layer->weight);
    if (layer->bf16_bias.defined()) layer->bf16_bias.copy_(layer->bias);
  }
}

}  // namespace

void restore(const RunParts& run, const run::Snapshot& s) {
  step::Session& session = run.session;
  run::load_state_dict(*session.net, s.under("net"), "checkpoint");
  session.optimizer->refresh_bf16_copies();
  refresh_frozen_copies(*session.net);
  session.optimizer->load_state(own_moments(session, s.under("optimizer")));
  if (session.predictor) session.predictor->load_state(s.under("predictor"));
  io::TensorMap of_method = s.under("method");
  for (auto& [name, tensor] : of_method) tensor = tensor.to(session.device);
  run.method.load_state(of_method);
  for (const auto& part : session.parts) part->load_state(s.under(part->name()));
  session.team->load_state(s.under("team"));
  run.planner.load_state(s.under("examples"));
  run.probes.load_state(s.under("probes"));
  if (const auto loss = s.under("loss"); loss.contains("predictor")) {
    session.predictor_loss.copy_(loss.at("predictor"));
  }
  step::load_generator_state(*session.team, session.device, s.under("random"));
  try {
    run.totals.step = s.step;
    run.totals.read(s.state);
    run.policy.load_state(s.state.at("policy").get<std::vector<double>>());
    session.tally.load_state(s.state.at("tally").get<std::vector<double>>());
  } catch (const std::exception& error) {
    throw DataError(core::cat("checkpoint of batch ", s.step,
                              ": incomplete state: ", core::plain_message(error)));
  }
}

}  // namespace adagp::train
