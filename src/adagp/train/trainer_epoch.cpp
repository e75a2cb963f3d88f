// What a Trainer tells: a line every so many batches, an evaluation at the end of every epoch.

#include <cmath>

#include "adagp/core/error.h"
#include "adagp/core/text.h"
#include "adagp/step/evaluate.h"
#include "adagp/train/trainer.h"

namespace adagp::train {

void Trainer::log_interval() {
  stop_clock();
  const double seconds =
      (train_seconds_ - timed_from_) / static_cast<double>(std::max<int64_t>(1, timed_batches_));
  const double per_second = static_cast<double>(timed_examples_) / (train_seconds_ - timed_from_);
  timed_from_ = train_seconds_;
  timed_batches_ = timed_examples_ = 0;
  const int64_t epoch = last_.epoch, position = last_.position + 1;
  task::RunningMetrics::Values seen = session_.tally.read();
  if (team() != nullptr) seen = team()->sum(seen);
  check_interval(seen);
  probes_.collect();
  if (!records_) {
    start_clock();
    return;
  }
  const double loss = seen.loss(), right = seen.top1();
  const std::string running = session_.task->running_figure();
  const double share = static_cast<double>(gp_batches_) / static_cast<double>(step_);
  const auto cosine = probes_.last_cosine();

  // Batches without a forward pass (skip, zero) have neither.
  const bool known = seen.count > 0;
  const auto shown = [&](double value, int digits) {
    return known ? core::fixed(value, digits) : std::string("-");
  };

  std::string line = core::cat(
      "epoch ", epoch + 1, " [", position, "/", batches_of_last_, " ",
      100 * position / batches_of_last_, "%] loss ", shown(loss, 3), " ",
      running.empty() ? "" : core::cat(running, " ", shown(right, 1), " "), core::fixed(seconds, 3),
      " s/it ", core::fixed(per_second, 0), "/s lr ", session_.lr, " phase ",
      phase_ == schedule::Phase::kPredict ? "GP" : "BP", " gp ", core::fixed(100 * share, 0), "%");
  if (cosine) line += " cos " + core::fixed(*cosine, 3);
  progress_.show(line + time_left(), fraction());

  nlohmann::json record{{"kind", "train"},
                        {"step", step_},
                        {"epoch", epoch},
                        {"loss", loss},
                        {"lr", session_.lr},
                        {"gp_share", share},
                        {"seconds_per_batch", seconds}};
  if (!running.empty()) record[running] = right;
  if (probes_.measured()) {
    nlohmann::json layers = nlohmann::json::array();
    for (const auto& values : probes_.last()) layers.push_back(values.list());
    record["probes"] = layers;
  }
  if (session_.predictor && bp_batches_ > 0) {
    record["predictor_loss"] = session_.predictor_loss.item<double>();
    events_->scalar("predictor/loss", record["predictor_loss"].get<double>(), step_);
  }
  records_->write(record);
  if (known) events_->scalar("train/loss", loss, step_);
  if (known && !running.empty()) events_->scalar("train/" + running, right, step_);
  events_->scalar("train/lr", session_.lr, step_);
  events_->scalar("train/gp_share", share, step_);
  if (cosine) {
    events_->scalar("predictor/cosine", *cosine, step_);
    std::vector<double> cosines;
    for (const auto& values : probes_.last()) {
      if (std::isfinite(values.cosine)) cosines.push_back(values.cosine);
    }
    events_->histogram("predictor/cosine_by_layer", cosines, step_);
  }
  start_clock();
}

void Trainer::tell_decisions() {
  for (nlohmann::json& told : method_->take_records()) {
    if (!records_) continue;
    told["step"] = told["batch"] = step_;
    records_->write(told);
    const auto scalar = [&](const char* key) {
      if (told[key].is_number()) {
        events_->scalar(std::string("auto/") + key, told[key].get<double>(), step_);
      }
    };
    for (const char* key : {"used_k", "rate", "bp_rate", "low"}) scalar(key);
  }
}

task::Evaluation Trainer::evaluate() {
  task::EvaluationRequest request;
  request.thorough = done();
  if (team() == nullptr) {
    return step::evaluate(session_, *test_source_, &eval_graph_, request);
  }
  team()->collect(session_);
  task::Evaluation found;
  if (team()->leads()) {
    found = step::evaluate(session_, *test_source_, &eval_graph_, request);
  }
  team()->wait_for_leader();
  // Every bit of it: a rate that follows the loss must be the same everywhere.
  nlohmann::json told{{"loss", core::shortest(found.loss)}};
  for (const auto& [name, value] : found.figures) told["figures"][name] = core::shortest(value);
  told = nlohmann::json::parse(team()->spread(told.dump()));
  found.loss = std::stod(told.at("loss").get<std::string>());
  for (const auto& [name, value] : told.at("figures").items()) {
    found.figures[name] = std::stod(value.get<std::string>());
  }
  return found;
}

void Trainer::end_epoch(run::RunFolder* folder) {
  stop_clock();
  const metrics::Stopwatch watch;
  const task::Evaluation found = evaluate();
  eval_seconds_ += watch.seconds();
  note_stopped();
  if (!std::isfinite(found.loss)) {
    progress_.clear();
    throw DivergedError(
        core::cat("diverged: test loss ", found.loss, " after ", last_.text(),
                  "; checkpoints made before are kept; lower optim.lr or set clip"));
  }
  figures_ = found.figures;
  test_loss_ = found.loss;
  policy_->epoch_end(found.loss);
  const task::Figure& main = main_figure();
  const double score = figures_.at(main.name);
  if (score > best_score_) {
    best_score_ = score;
    if (folder != nullptr) write_weights(folder->file("best.safetensors"));
  }
  task::RunningMetrics::Values seen = session_.tally.read();
  if (team() != nullptr) seen = team()->sum(seen);
  session_.tally.reset();
  checked_ = {};
  if (folder == nullptr) {
    start_clock();
    return;
  }
  const int64_t epoch = last_.epoch;
  progress_.show(core::cat("epoch ", epoch + 1, "/", (total_ + per_epoch_ - 1) / per_epoch_,
                           " done: test ", main.name, " ", core::fixed(score, 2), " loss ",
                           core::fixed(test_loss_, 3), " (best ", core::fixed(best_score_, 2),
                           ") after ", core::human_seconds(train_seconds_), time_left()),
                 fraction(), true);
  nlohmann::json record{{"kind", "epoch"},
                        {"step", step_},
                        {"epoch", epoch},
                        {"test_loss", test_loss_},
                        {"train_loss", seen.loss()},
                        {"train_seconds", train_seconds_},
                        {"cost_epochs", cost_epochs()}};
  for (const auto& [name, value] : figures_) {
    record["test_" + name] = value;
    events_->scalar("test/" + name, value, step_);
  }
  if (const auto q = probes_.mean_q()) record["q"] = *q;
  if (const auto cosine = probes_.mean_cosine()) record["cosine"] = *cosine;
  records_->write(record);
  records_->flush();
  events_->scalar("test/loss", test_loss_, step_);
  events_->flush();
  start_clock();
}

}  // namespace adagp::train
