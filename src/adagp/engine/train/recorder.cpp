#include "adagp/engine/train/recorder.h"

#include <cmath>

#include "adagp/base/core/text.h"

namespace adagp::train {

void Recorder::open(const run::RunFolder& folder, int64_t step) {
  records_ = std::make_unique<io::JsonlWriter>(folder.file("metrics.jsonl"), step);
  events_ = std::make_unique<io::EventWriter>(folder.file("tb"), step);
}

void Recorder::interval(const Interval& now, const step::Session& session,
                        const method::Probes& probes, const RunTotals& totals,
                        const Progress& progress) {
  const double loss = now.seen.loss(), right = now.seen.top1();
  const std::string running = session.task->running_figure();
  const double share = totals.gp_share();
  const auto cosine = probes.last_cosine();
  const int64_t batch = now.last.batch + 1, step = totals.step;

  // Batches without a forward pass (skip, zero) have neither.
  const bool known = now.seen.count > 0;
  const auto figure = [&](double value, int digits) {
    return known ? core::fixed(value, digits) : std::string("-");
  };

  std::string line = core::cat(
      "epoch ", now.last.epoch + 1, " [", batch, "/", now.batches_of_epoch, " ",
      100 * batch / now.batches_of_epoch, "%] loss ", figure(loss, 3), " ",
      running.empty() ? "" : core::cat(running, " ", figure(right, 1), " "),
      core::fixed(now.seconds_per_batch, 3), " s/it ", core::fixed(now.examples_per_second, 0),
      "/s lr ", session.lr, " phase ", now.phase == schedule::Phase::kPredict ? "GP" : "BP", " gp ",
      core::fixed(100 * share, 0), "%");
  if (cosine) line += " cos " + core::fixed(*cosine, 3);
  progress_.show(line + progress.time_left, progress.share);

  nlohmann::json record{{"kind", "train"},
                        {"step", step},
                        {"epoch", now.last.epoch},
                        {"loss", loss},
                        {"lr", session.lr},
                        {"gp_share", share},
                        {"seconds_per_batch", now.seconds_per_batch}};
  if (!running.empty()) record[running] = right;
  if (probes.measured()) {
    nlohmann::json layers = nlohmann::json::array();
    for (const auto& values : probes.last()) layers.push_back(values.list());
    record["probes"] = layers;
  }
  if (session.predictor && totals.bp_batches > 0) {
    record["predictor_loss"] = session.predictor_loss.item<double>();
    events_->scalar("predictor/loss", record["predictor_loss"].get<double>(), step);
  }
  records_->write(record);
  if (known) events_->scalar("train/loss", loss, step);
  if (known && !running.empty()) events_->scalar("train/" + running, right, step);
  events_->scalar("train/lr", session.lr, step);
  events_->scalar("train/gp_share", share, step);
  if (cosine) {
    events_->scalar("predictor/cosine", *cosine, step);
    std::vector<double> cosines;
    for (const auto& values : probes.last()) {
      if (std::isfinite(values.cosine)) cosines.push_back(values.cosine);
    }
    events_->histogram("predictor/cosine_by_layer", cosines, step);
  }
}

void Recorder::epoch(const Epoch& now, const method::Probes& probes, const RunTotals& totals,
                     const Progress& progress) {
  const int64_t step = totals.step;
  progress_.show(
      core::cat("epoch ", now.epoch + 1, "/", now.epochs, " done: test ", now.metric, " ",
                core::fixed(totals.figures.at(now.metric), 2), " loss ",
                core::fixed(totals.test_loss, 3), " (best ", core::fixed(totals.best_score, 2),
                ") after ", core::human_seconds(totals.train_seconds), progress.time_left),
      progress.share, true);
  nlohmann::json record{{"kind", "epoch"},
                        {"step", step},
                        {"epoch", now.epoch},
                        {"test_loss", totals.test_loss},
                        {"train_loss", now.train_loss},
                        {"train_seconds", totals.train_seconds},
                        {"cost_epochs", now.cost_epochs}};
  if (now.held_out_loss) record["held_out_loss"] = *now.held_out_loss;
  if (std::isfinite(totals.examples)) record["examples"] = static_cast<int64_t>(totals.examples);
  if (totals.parts.known()) {
    record["data_seconds"] = totals.parts.data;
    record["bp_seconds"] = totals.parts.exact;
    record["gp_seconds"] = totals.parts.cheap;
  }
  for (const auto& [name, value] : totals.figures) {
    record["test_" + name] = value;
    events_->scalar("test/" + name, value, step);
  }
  if (const auto q = probes.mean_q()) record["q"] = *q;
  if (const auto cosine = probes.mean_cosine()) record["cosine"] = *cosine;
  records_->write(record);
  records_->flush();
  events_->scalar("test/loss", totals.test_loss, step);
  events_->flush();
}

void Recorder::decisions(const std::vector<nlohmann::json>& made, int64_t step) {
  for (nlohmann::json told : made) {
    if (!is_open()) continue;
    told["step"] = told["batch"] = step;
    records_->write(told);
    for (const char* key : {"used_k", "rate", "bp_rate", "low"}) {
      if (!told[key].is_number()) continue;
      events_->scalar(told.value("method", "policy") + "/" + key, told[key].get<double>(), step);
    }
  }
}

void Recorder::flush() {
  records_->flush();
  events_->flush();
}

}  // namespace adagp::train
