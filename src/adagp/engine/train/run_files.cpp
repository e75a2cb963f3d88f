#include "adagp/engine/train/run_files.h"

#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/run/environment.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/task/weights_settings.h"
#include "adagp/engine/train/conditions.h"

namespace adagp::train {

void begin_folder(run::RunFolder& folder, const step::Session& session,
                  const std::map<int64_t, layers::Table>& tables, const std::string& data) {
  folder.begin(session.config, run::environment(session.device, data));
  // A user's own network may use operations that have no shape-only path.
  if (tables.empty()) return;
  core::write_file(folder.file("layers.csv"), layers::to_csv(layers::only_products(tables.at(0))));
  core::make_folder(folder.file("operations"));
  for (const auto& [side, table] : tables) {
    core::write_file(folder.file(report::operations_name(side)), layers::to_csv(table));
  }
}

void refuse_foreign(const run::Snapshot& found, run::RunIdentity own, const Forecast& forecast) {
  const auto refuse = [&](const std::string& why) {
    throw DataError(core::cat(found.file.string(), ": ", why,
                              "; take it out of the folder, or start the run anew with "
                              "--overwrite"));
  };
  run::RunIdentity its;
  try {
    its = run::identity_in(found.state);
  } catch (const DataError& error) {
    refuse(error.what());
  }
  if (its.config.epochs < own.config.epochs &&
      forecast.why_not_longer_than(its.config.epochs).empty()) {
    own.config.epochs = its.config.epochs;
  }
  const auto other = differences(its, own);
  if (!other.empty()) refuse("is of another run: " + core::join(other, "; "));
  if (!forecast.planner.planned() && found.step > forecast.size.total) {
    refuse(core::cat("is of batch ", found.step, ", beyond the end of the run (",
                     forecast.size.total, " batches)"));
  }
}

void extend(run::RunFolder& folder, const Forecast& forecast, bool has_checkpoint) {
  const config::RunConfig& config = forecast.session.config;
  const int64_t before = *folder.shorter_epochs();
  std::string why = forecast.why_not_longer_than(before);
  // A run that was stopped before its first checkpoint begins anew.
  if (why.empty() && !has_checkpoint && core::fs::exists(folder.file("summary.json"))) {
    why = "the folder has no checkpoint to go on from";
  }
  if (!why.empty()) {
    throw UsageError(core::cat(folder.path().string(),
                               ": holds a run with another configuration (epochs): ", before,
                               ", not ", config.epochs, ", and it cannot be extended: ", why,
                               "; choose another folder, or start anew with --overwrite"));
  }
  folder.extend(config);
  core::log_info(core::cat(folder.path().string(), ": extended from ", before, " to ",
                           config.epochs, " epochs"));
}

report::Summary summary_of(const step::Session& session, const RunTotals& totals,
                           const method::Probes& probes, double cost_epochs) {
  const config::RunConfig& c = session.config;
  report::Summary s;
  s.method = c.method;
  s.model = c.model.name;
  s.data = c.data.name;
  s.device = session.device.str();
  s.precision = c.precision;
  s.seed = c.seed;
  s.epochs = c.epochs;
  s.batch = c.batch;
  s.task = models::task_name(session.task->kind());
  s.metric = session.task->figures().front().name;
  s.conditions = conditions_of(c, *session.task);
  s.figures = totals.figures;
  s.loss = totals.test_loss;
  s.best = totals.best_score;
  s.train_seconds = totals.train_seconds;
  s.eval_seconds = totals.eval_seconds;
  s.trace_seconds = totals.trace_seconds;
  s.bp_batches = totals.bp_batches;
  s.gp_batches = totals.gp_batches;
  s.batches = totals.batches;
  if (std::isfinite(cost_epochs)) s.cost_epochs = cost_epochs;
  s.cosine = probes.mean_cosine();
  s.q = probes.mean_q();
  s.bias = probes.bias();
  return s;
}

void write_weights(const core::fs::path& file, const step::Session& session) {
  const config::RunConfig& c = session.config;
  auto metadata = run::to_metadata(
      {c.model.name, c.model.form, c.model.classes, c.model.width_divisor, c.model.duplex});
  metadata.merge(session.task->metadata(c));
  metadata.merge(task::settings_metadata(c, *session.task));
  for (const auto& part : session.parts) part->write(metadata);
  io::save_tensors(file, run::state_dict(*session.net), metadata);
}

}  // namespace adagp::train
