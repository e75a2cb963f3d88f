#include "adagp/lab/experiment/dry_run.h"

#include <cmath>

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/method/table.h"
#include "adagp/lab/experiment/idle_trainer.h"
#include "adagp/lab/experiment/step_times.h"

namespace adagp::experiment {
namespace {

constexpr int kTimedSteps = 3;

}  // namespace

DryRun dry_run(config::RunConfig config) {
  const auto made = idle_trainer(config);
  train::Trainer& trainer = *made;
  step::Session& s = trainer.session();
  if (const std::string no_gp = trainer.forecast().no_gp_batches(); !no_gp.empty())
    core::log_warning(no_gp);

  DryRun out;
  out.model = config.model.name + " (" + config.model.form + " form)";
  out.method = config.method;
  out.device = s.device.str();
  out.schedule = trainer.schedule().str();
  out.parameters = models::parameter_count(*s.net);
  if (s.predictor) out.predictor_parameters = s.predictor->parameter_count();
  out.batches_per_epoch = trainer.batches_per_epoch();
  out.batch = config.batch;
  const train::EpochPlanner::Counts counts = trainer.forecast().counts();
  out.gp_batches = counts.gp;
  out.bp_batches = counts.bp;
  constexpr double kFloat = 4;
  out.weight_bytes = kFloat * (static_cast<double>(out.parameters) * 3 +
                               static_cast<double>(out.predictor_parameters) * 4);
  const auto table = layers::from_model(*s.net, config.model.name, s.task->input_name(config));
  for (const auto& row : table.rows) {
    out.activation_bytes += 2.0 * static_cast<double>(row.output_bytes * config.batch);
  }
  if (s.bf16) out.activation_bytes /= 2;

  const double bp_macs = trainer.costs().backprop() * static_cast<double>(config.batch);
  std::vector<std::string> kinds{s.predictor ? "bp-train" : "bp"};
  if (s.predictor || !std::isfinite(bp_macs)) kinds.push_back("gp");
  core::log_info(core::cat("dry run: timing steps of ", config.batch, " ", s.task->unit(), " on ",
                           out.device));
  const StepTimes times = measure_steps(
      config, s.task, s.task->example(config, config.batch, s.device), kTimedSteps, kinds);
  out.bp_seconds = s.predictor ? times.bp_train.median : times.bp.median;
  const auto bp_batches = static_cast<double>(out.bp_batches);
  const auto gp_batches = static_cast<double>(out.gp_batches);
  if (s.predictor || !std::isfinite(bp_macs)) {
    out.gp_seconds = trainer.method().traits().cheap_needs_data ? times.gp.median : 0;
    out.total_seconds = out.bp_seconds * bp_batches + out.gp_seconds * gp_batches;
  } else {
    // Exact steps take as long as their multiplications, near enough.
    out.total_seconds = out.bp_seconds * counts.macs / bp_macs;
    out.gp_seconds = gp_batches > 0 && !trainer.method().batch_plan().resizes_batches
                         ? (out.total_seconds - out.bp_seconds * bp_batches) / gp_batches
                         : 0;
  }
  return out;
}

std::string DryRun::text() const {
  return core::cat(
      "model       ", model, ", ", core::grouped(parameters), " parameters",
      predictor_parameters > 0 ? ", predictor " + core::grouped(predictor_parameters) : "", "\n",
      "method      ", method, ", schedule ", schedule, "\n", "batches     ",
      bp_batches + gp_batches, " (", batches_per_epoch, " per epoch): ", bp_batches, " BP, ",
      gp_batches, " GP\n", "memory      ", core::human_bytes(weight_bytes),
      " weights and states, about ", core::human_bytes(activation_bytes),
      " activations of a BP batch\n", "time        about ", core::human_seconds(total_seconds),
      " on ", device, " (BP ", core::fixed(bp_seconds, 4), " s",
      gp_seconds > 0 ? core::cat(", GP ", core::fixed(gp_seconds, 4), " s") : "", " a batch of ",
      batch, "), without evaluation",
      method::find_method(method).cheap == method::Cheap::kDecided
          ? "; which GP batches there are is decided on the way"
          : "");
}

nlohmann::json DryRun::to_json() const {
  return {{"model", model},
          {"method", method},
          {"schedule", schedule},
          {"device", device},
          {"parameters", parameters},
          {"predictor_parameters", predictor_parameters},
          {"batches_per_epoch", batches_per_epoch},
          {"bp_batches", bp_batches},
          {"gp_batches", gp_batches},
          {"weight_bytes", weight_bytes},
          {"activation_bytes", activation_bytes},
          {"bp_seconds", bp_seconds},
          {"gp_seconds", gp_seconds},
          {"total_seconds", total_seconds}};
}

}  // namespace adagp::experiment
