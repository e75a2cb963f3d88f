// What a Trainer keeps: records, checkpoints, weights, the summary.

#include <cmath>

#include <ATen/ATen.h>

#include "adagp/core/error.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"
#include "adagp/layers/from_model.h"
#include "adagp/run/weights.h"
#include "adagp/step/generators.h"
#include "adagp/task/weights_settings.h"
#include "adagp/train/conditions.h"
#include "adagp/train/trainer.h"

namespace adagp::train {
void Trainer::open_records(run::RunFolder& folder) {
  if (step_ == 0) {
    // The table comes first: it finds images too small for the network before anything is written.
    std::string table;
    try {
      table = layers::to_csv(layers::from_model(*session_.net, session_.config.model.name,
                                                session_.task->input_name(session_.config)));
    } catch (const UsageError&) {
      throw;
    } catch (const std::exception& error) {
      // A user's own network may use operations that have no shape-only path.
      core::log_debug(core::cat("no layers.csv: ", error.what()));
    }
    folder.begin(session_.config, session_.device.str());
    if (!table.empty()) core::write_file(folder.file("layers.csv"), table);
  }
  records_ = std::make_unique<io::JsonlWriter>(folder.file("metrics.jsonl"), step_);
  events_ = std::make_unique<io::EventWriter>(folder.file("tb"), step_);
}

run::Snapshot Trainer::snapshot(const task::RunningMetrics::Values& seen) const {
  run::Snapshot s;
  s.step = step_;
  s.put("net", run::state_dict(*session_.net));
  s.put("optimizer", session_.optimizer->state());
  if (session_.predictor) s.put("predictor", session_.predictor->state());
  s.put("method", method_->state());
  s.put("examples", planner_->state());
  s.put("probes", probes_.state());
  if (session_.predictor_loss.defined()) s.tensors["loss.predictor"] = session_.predictor_loss;
  s.put("random", step::generator_state(team(), session_.device));
  s.state = {{"epoch", at_.epoch},
             {"position", at_.position},
             {"macs", macs_},
             {"bp_batches", bp_batches_},
             {"gp_batches", gp_batches_},
             {"train_seconds", train_seconds_},
             {"eval_seconds", eval_seconds_},
             {"stopped_seconds", stopped_seconds_},
             {"test_loss", test_loss_},
             {"best_score", best_score_},
             {"figures", figures_},
             {"policy", policy_->state()},
             {"tally", {seen.loss_sum, seen.first, seen.five, seen.count}}};
  return s;
}

void Trainer::restore(const run::Snapshot& s) {
  run::load_state_dict(*session_.net, s.under("net"), "checkpoint");
  session_.optimizer->refresh_bf16_copies();
  // A process of a team takes from the whole run's state what it moves.
  io::TensorMap moments = s.under("optimizer");
  if (team() != nullptr) {
    const auto own = session_.optimizer->state();
    std::erase_if(moments, [&](const auto& entry) { return !own.contains(entry.first); });
  }
  session_.optimizer->load_state(moments);
  if (session_.predictor) session_.predictor->load_state(s.under("predictor"));
  const auto to_device = [&](io::TensorMap part) {
    for (auto& [name, tensor] : part) tensor = tensor.to(session_.device);
    return part;
  };
  method_->load_state(to_device(s.under("method")));
  planner_->load_state(s.under("examples"));
  probes_.load_state(s.under("probes"));
  if (const auto loss = s.under("loss"); loss.contains("predictor")) {
    session_.predictor_loss.copy_(loss.at("predictor"));
  }
  step::load_generator_state(team(), session_.device, s.under("random"));
  try {
    step_ = s.step;
    s.state.at("epoch").get_to(at_.epoch);
    s.state.at("position").get_to(at_.position);
    macs_ = s.state.at("macs").is_null() ? std::nan("") : s.state.at("macs").get<double>();
    s.state.at("bp_batches").get_to(bp_batches_);
    s.state.at("gp_batches").get_to(gp_batches_);
    s.state.at("train_seconds").get_to(train_seconds_);
    s.state.at("eval_seconds").get_to(eval_seconds_);
    stopped_seconds_ = s.state.value("stopped_seconds", 0.0);
    timed_from_ = train_seconds_;
    s.state.at("test_loss").get_to(test_loss_);
    s.state.at("best_score").get_to(best_score_);
    s.state.at("figures").get_to(figures_);
    policy_->load_state(s.state.at("policy").get<std::vector<double>>());
    const auto seen = s.state.at("tally").get<std::vector<double>>();
    session_.tally.load_state(seen);
    checked_ = session_.tally.read();
    // The sum over a team must count it once.
    if (team() != nullptr && !team()->leads()) session_.tally.reset();
    checked_from_ = at_;
  } catch (const std::exception& error) {
    throw DataError(
        core::cat("checkpoint of batch ", s.step, ": incomplete state: ", error.what()));
  }
}

void Trainer::write_weights(const core::fs::path& file) const {
  const config::RunConfig& c = session_.config;
  auto metadata =
      run::to_metadata({c.model.name, c.model.form, c.model.classes, c.model.width_divisor});
  metadata.merge(session_.task->metadata(c));
  metadata.merge(task::settings_metadata(c, *session_.task));
  io::save_tensors(file, run::state_dict(*session_.net), metadata);
}

report::Summary Trainer::summary() const {
  const config::RunConfig& c = session_.config;
  report::Summary s;
  s.method = c.method;
  s.model = c.model.name;
  s.data = c.data.name;
  s.device = session_.device.str();
  s.precision = c.precision;
  s.seed = c.seed;
  s.epochs = c.epochs;
  s.batch = c.batch;
  s.task = models::task_name(session_.task->kind());
  s.metric = main_figure().name;
  s.conditions = conditions_of(c, *session_.task);
  s.figures = figures_;
  s.loss = test_loss_;
  s.best = best_score_;
  s.train_seconds = train_seconds_;
  s.eval_seconds = eval_seconds_;
  s.stopped_seconds = stopped_seconds_;
  s.bp_batches = bp_batches_;
  s.gp_batches = gp_batches_;
  if (const double cost = cost_epochs(); std::isfinite(cost)) s.cost_epochs = cost;
  s.cosine = probes_.mean_cosine();
  s.q = probes_.mean_q();
  s.bias = probes_.bias();
  return s;
}

}  // namespace adagp::train
