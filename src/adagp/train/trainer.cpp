#include "adagp/train/trainer.h"

#include <cmath>

#include <ATen/ATen.h>

#include "adagp/core/duration.h"
#include "adagp/core/error.h"
#include "adagp/core/interrupt.h"
#include "adagp/core/log.h"
#include "adagp/core/text.h"
#include "adagp/device/kernels.h"
#include "adagp/train/build.h"
#include "adagp/train/divergence.h"
#include "adagp/train/out_of_memory.h"

namespace adagp::train {

Trainer::Trainer(const Config& config, std::shared_ptr<const Task> task,
                 std::shared_ptr<models::Net> net)
    : session_(make_session(config, std::move(task), std::move(net))),
      schedule_(schedule::Schedule::parse(
          find_method(config.method).scheduled ? config.schedule : "bp", config.epochs)),
      probes_(0, 0),
      cheap_graph_("GP", config.graphs),
      eval_graph_("evaluation", config.graphs) {
  const MethodEntry& entry = find_method(config.method);
  if (entry.scheduled) add_summaries(session_);
  method_ = entry.make(session_);

  Task::Skips skips;
  if (!method_->cheap_needs_data()) {
    skips = [schedule = schedule_](int64_t epoch, int64_t position) {
      return schedule.at(epoch, position) == schedule::Phase::kPredict;
    };
  }
  train_source_ = session_.task->batches(config, Use::kTrain, session_.device, skips);
  test_source_ = session_.task->batches(config, Use::kTest, session_.device);
  per_epoch_ = train_source_->batches_per_epoch();
  total_ = config.method == "equal-time" ? config.equal_time_batches : config.epochs * per_epoch_;
  if (total_ < 1) throw UsageError("equal_time.batches = 0: method equal-time has no budget");
  // A run cut to a budget takes its stairs proportionally earlier.
  const int64_t full = config.epochs * per_epoch_;
  policy_ = optim::make_policy(config.policy, config.optim.lr, total_,
                               std::max<int64_t>(1, per_epoch_ * total_ / full));
  const auto batches = [&](const std::string& text) {
    return core::Duration::parse(text).batches(per_epoch_);
  };
  probes_ = Probes(session_.layers.size(), batches(config.probe_every));
  for (const Probes::Turn turn : {Probes::Turn{}, {true, false}, {false, true}, {true, true}}) {
    full_graphs_.try_emplace(turn, turn.any() ? "probing BP" : "BP", config.graphs);
  }
  log_every_ = std::max<int64_t>(1, batches(config.log_every));
  checkpoint_every_ = std::max<int64_t>(1, batches(config.checkpoint_every));
  if (entry.predicts) add_predictor(session_, per_epoch_);
}

int64_t Trainer::predicted_batches() const {
  int64_t count = 0;
  for (int64_t s = 0; s < total_; ++s) {
    count += schedule_.at(s / per_epoch_, s % per_epoch_) == schedule::Phase::kPredict ? 1 : 0;
  }
  return count;
}

// Counted from 1, as the progress lines count.
std::string Trainer::position_text(int64_t step) const {
  return core::cat("epoch ", step / per_epoch_ + 1, " batch ", step % per_epoch_ + 1);
}

Summary Trainer::run(RunFolder& folder) {
  const Checkpoints checkpoints(folder.file("checkpoint"));
  if (const auto found = checkpoints.load_newest()) {
    restore(*found);
    core::log_info(
        core::cat(folder.path().string(), ": resumed after batch ", step_, " of ", total_));
  }
  open_records(folder);
  session_.net->train();
  train_source_->seek(step_ / per_epoch_, step_ % per_epoch_);

  int64_t saved = step_;
  start_clock();
  while (step_ < total_) {
    one_batch();
    const bool end_of_epoch = step_ % per_epoch_ == 0 || step_ == total_;
    if (end_of_epoch || step_ % log_every_ == 0) log_interval();
    if (end_of_epoch) end_epoch(folder);

    const int signal = core::pending_signal();
    if (signal == 0 && step_ - saved < checkpoint_every_ && step_ < total_) continue;
    stop_clock();
    check_interval(session_.tally.read());
    probes_.collect();
    // A run resumed from here writes only what comes after: what came before must be on disk first.
    records_->flush();
    events_->flush();
    try {
      checkpoints.save(snapshot());
    } catch (const DivergedError& error) {
      throw DivergedError(core::cat(error.what(), " (", position_text(step_ - 1), ")"));
    }
    saved = step_;
    if (signal != 0 && step_ < total_) {
      progress_.clear();
      throw Interrupted(core::cat("interrupted: saved after batch ", step_, " of ", total_, " in ",
                                  folder.path().string(), "; the same command goes on from there"),
                        signal);
    }
    start_clock();
  }
  write_weights(folder.file("weights.safetensors"));
  const Summary result = summary();
  folder.finish(result);
  return result;
}

void Trainer::one_batch() {
  const int64_t epoch = step_ / per_epoch_, position = step_ % per_epoch_;
  phase_ = schedule_.at(epoch, position);
  session_.set_lr(policy_->lr(step_));
  StepResult result;
  if (phase_ == schedule::Phase::kBackprop) {
    last_batch_ = train_source_->next();
    result = full_batch(last_batch_);
    ++bp_batches_;
  } else {
    data::Batch batch;
    if (method_->cheap_needs_data()) {
      batch = last_batch_ = train_source_->next();
    } else {
      train_source_->skip();
    }
    result = cheap_batch(batch);
    ++gp_batches_;
  }
  ++step_;
  ++timed_batches_;
  // Reading the loss costs nothing on the CPU; a GPU is only asked at the log interval.
  if (result.loss.defined() && session_.device.is_cpu()) {
    check_loss(result.loss.item<double>(), "at " + position_text(step_ - 1));
  }
}

StepResult Trainer::full_batch(const data::Batch& batch) {
  const auto turn = method_->substitutes() ? probes_.turn(bp_batches_) : Probes::Turn();
  probes_.begin(turn);
  method_->advance(session_);
  const auto step = [&](const data::Batch& given) {
    return method_->exact_step(session_, given, turn.any() ? &probes_ : nullptr);
  };
  StepResult result = run_in_memory(session_, "BP", batch, step, [&] {
    return full_graphs_.at(turn).run(session_, batch, step);
  });
  if (turn.any()) probes_.end();
  return result;
}

StepResult Trainer::cheap_batch(const data::Batch& batch) {
  const auto step = [&](const data::Batch& given) { return method_->cheap_step(session_, given); };
  if (!method_->cheap_does_work()) return step(batch);
  return run_in_memory(session_, "GP", batch, step,
                       [&] { return cheap_graph_.run(session_, batch, step); });
}

void Trainer::stop_clock() {
  device::synchronise(session_.device);
  train_seconds_ += clock_.restart() - probes_.take_seconds();
}

void Trainer::check_interval(const Tally::Values& now) {
  const int64_t first = checked_step_;
  const double count = now.count - checked_.count, sum = now.loss_sum - checked_.loss_sum;
  checked_ = now;
  checked_step_ = step_;
  if (count <= 0) return;
  check_loss(sum / count, first + 1 < step_ ? core::cat("between ", position_text(first), " and ",
                                                        position_text(step_ - 1))
                                            : "at " + position_text(step_ - 1));
}

void Trainer::check_loss(double loss, const std::string& where) {
  if (std::isfinite(loss) && loss <= session_.config.loss_limit) return;
  progress_.clear();
  throw DivergedError(core::cat("diverged: loss ", loss, " (limit ", session_.config.loss_limit,
                                ") ", where, ", ",
                                describe_divergence(*session_.net, last_batch_.inputs),
                                ", learning rate ", core::shortest(session_.lr),
                                "; checkpoints made before are kept; lower optim.lr or set clip"));
}

void Trainer::log_interval() {
  stop_clock();
  const double seconds =
      (train_seconds_ - timed_from_) / static_cast<double>(std::max<int64_t>(1, timed_batches_));
  timed_from_ = train_seconds_;
  timed_batches_ = 0;
  const int64_t epoch = (step_ - 1) / per_epoch_, position = (step_ - 1) % per_epoch_ + 1;
  const Tally::Values seen = session_.tally.read();
  check_interval(seen);
  probes_.collect();
  const double loss = seen.loss(), right = seen.top1();
  const std::string running = session_.task->running_figure();
  const double share = static_cast<double>(gp_batches_) / static_cast<double>(step_);
  const auto cosine = probes_.last_cosine();

  std::string line =
      core::cat("epoch ", epoch + 1, " [", position, "/", per_epoch_, " ",
                100 * position / per_epoch_, "%] loss ", core::fixed(loss, 3), " ",
                running.empty() ? "" : core::cat(running, " ", core::fixed(right, 1), " "),
                core::fixed(seconds, 3), " s/it ",
                core::fixed(static_cast<double>(session_.config.batch) / seconds, 0), "/s lr ",
                session_.lr, " phase ", phase_ == schedule::Phase::kPredict ? "GP" : "BP", " gp ",
                core::fixed(100 * share, 0), "%");
  if (cosine) line += " cos " + core::fixed(*cosine, 3);
  progress_.show(line, fraction());

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
  events_->scalar("train/loss", loss, step_);
  if (!running.empty()) events_->scalar("train/" + running, right, step_);
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

void Trainer::end_epoch(RunFolder& folder) {
  stop_clock();
  const metrics::Stopwatch watch;
  EvaluationRequest request;
  request.thorough = step_ == total_;
  const Evaluation found = session_.task->evaluate(session_, *test_source_, &eval_graph_, request);
  eval_seconds_ += watch.seconds();
  if (!std::isfinite(found.loss)) {
    progress_.clear();
    throw DivergedError(core::cat("diverged: test loss ", found.loss, " after ",
                                  position_text(step_ - 1), "; checkpoints made before are kept"));
  }
  figures_ = found.figures;
  test_loss_ = found.loss;
  policy_->epoch_end(found.loss);
  const Figure& main = main_figure();
  const double score = figures_.at(main.name);
  if (score > best_score_) {
    best_score_ = score;
    write_weights(folder.file("best.safetensors"));
  }
  const int64_t epoch = (step_ - 1) / per_epoch_;
  progress_.show(core::cat("epoch ", epoch + 1, "/", (total_ + per_epoch_ - 1) / per_epoch_,
                           " done: test ", main.name, " ", core::fixed(score, 2), " loss ",
                           core::fixed(test_loss_, 3), " (best ", core::fixed(best_score_, 2),
                           ") after ", core::human_seconds(train_seconds_)),
                 fraction(), true);
  nlohmann::json record{{"kind", "epoch"},
                        {"step", step_},
                        {"epoch", epoch},
                        {"test_loss", test_loss_},
                        {"train_loss", session_.tally.read().loss()},
                        {"train_seconds", train_seconds_}};
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
  session_.tally.reset();
  checked_ = {};
  start_clock();
}

}  // namespace adagp::train
