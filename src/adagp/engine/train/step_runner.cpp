#include "adagp/engine/train/step_runner.h"

#include "adagp/base/core/log.h"
#include "adagp/engine/step/evaluate.h"
#include "adagp/engine/step/generators.h"
#include "adagp/engine/step/out_of_memory.h"
#include "adagp/engine/step/team.h"
#include "adagp/engine/step/undo.h"

namespace adagp::train {
namespace {

method::StepChooser::Kinds kinds_of(method::Method& method) {
  const method::StepChooser* chooser = method.step_chooser();
  return chooser != nullptr ? chooser->kinds() : method::StepChooser::Kinds();
}

}  // namespace

StepRunner::StepRunner(step::Session& session, method::Method& method, method::Probes& probes)
    : session_(session),
      method_(method),
      probes_(probes),
      // Values of other stages are here for each evaluation only, at new addresses.
      evaluation_graph_("evaluation", session.config.graphs && !session.team->splits_layers()) {
  const std::string why = session.team->unrecorded();
  if (why.empty() || !session.config.graphs || !device::Graph::possible(session.device)) return;
  if (session.team->leads()) core::log_info("steps run without CUDA graphs: " + why);
}

bool StepRunner::records() const {
  return session_.config.graphs && session_.team->unrecorded().empty() &&
         method_.traits().recordable;
}

step::StepResult StepRunner::exact(const data::Batch& batch, int64_t number) {
  const auto turn = method_.traits().substitutes ? probes_.turn(number) : method::Probes::Turn();
  probes_.begin(turn);
  method_.advance(session_);
  const auto step = [&](const data::Batch& given) {
    return method_.exact_step(session_, given, turn.any() ? &probes_ : nullptr);
  };
  step::StepGraph& graph = exact_graphs_
                               .try_emplace({turn, session_.first_block, kinds_of(method_).exact},
                                            turn.any() ? "probing BP" : "BP", records())
                               .first->second;
  step::StepResult result = run(graph, "BP", batch, step);
  if (turn.any()) probes_.end();
  return result;
}

step::StepResult StepRunner::cheap(const data::Batch& batch) {
  const auto step = [&](const data::Batch& given) { return method_.cheap_step(session_, given); };
  if (!method_.traits().cheap_does_work) return step(batch);
  step::StepGraph& graph =
      cheap_graphs_.try_emplace(kinds_of(method_).cheap, "GP", records()).first->second;
  return run(graph, "GP", batch, step);
}

step::StepResult StepRunner::run(step::StepGraph& graph, const char* phase,
                                 const data::Batch& batch, const step::StepGraph::Step& step) {
  step::StepResult result = step::run_in_memory(session_, phase, batch, step,
                                                [&] { return graph.run(session_, batch, step); });
  if (told_ || graph.state() != step::StepGraph::State::kReplay) return result;
  told_ = true;
  if (session_.team->leads()) core::log_info("steps run as CUDA graphs");
  return result;
}

task::Evaluation StepRunner::evaluate(data::BatchSource& source,
                                      const task::EvaluationRequest& request) {
  return step::evaluate(session_, source, &evaluation_graph_, request);
}

void StepRunner::warm_up() {
  method::StepChooser* chooser = method_.step_chooser();
  if (!session_.device.is_cuda() || chooser == nullptr || chooser->cheap_kinds() == 0) return;
  constexpr int kTimes = 3;  // twice as it is, once recorded
  step::UndoScope undo(session_);
  const io::TensorMap random = step::generator_state(*session_.team, session_.device);
  io::TensorMap own = method_.state();
  for (auto& [name, tensor] : own) tensor = tensor.clone();
  const std::vector<double> tally = session_.tally.state();
  const plan::BatchContext context{0, session_.config.epochs, schedule::Phase::kPredict};
  for (int64_t kind = 0; kind < chooser->cheap_kinds(); ++kind) {
    chooser->choose_for_warm_up(kind);
    for (int i = 0; i < kTimes && method_.traits().cheap_does_work; ++i) {
      data::Batch batch;
      if (method_.traits().cheap_needs_data) {
        batch = method_.transform_batch(
            session_.task->example(session_.config, session_.config.batch, session_.device),
            context);
      }
      cheap(batch);
    }
  }
  chooser->choose_for_warm_up(-1);
  session_.tally.load_state(tally);
  method_.load_state(own);
  step::load_generator_state(*session_.team, session_.device, random);
  undo.end();
}

}  // namespace adagp::train
