#include "adagp/papers/study/simulated_speedup.h"

#include "adagp/base/core/text.h"
#include "adagp/papers/study/details.h"
#include "adagp/papers/study/study.h"
#include "adagp/sim/accel/design/design.h"

namespace adagp::study {

std::optional<double> simulated_speedup(const SimulatedRun& run) {
  const predictor::Config& predictor = run.predictor;
  const bool shared = predictor.kind == "shared";
  if (!shared && predictor.kind != "remap") return std::nullopt;
  Options options;
  options.table = run.layers.string();
  options.arrays = "12x15";
  options.dataflows = "ws";
  options.batches = core::cat(run.batch);
  options.designs = "baseline,max";
  options.predictor_kind = predictor.kind;
  options.predictor_channels = core::cat(shared ? predictor.channels : predictor.remap_channels);
  if (shared) {
    options.predictor_pooled = core::cat(predictor.pooled);
    options.predictor_order = predictor.order;
    options.predictor_steps = predictor.steps;
    options.predictor_summary = core::cat(predictor.summary);
  }
  options.schedule = run.schedule;
  options.epochs = run.epochs;
  options.examples = run.examples;
  const Details details = detail(make_study(options), 0);
  for (const accel::DesignResult& result : details.training.designs) {
    if (result.design == &accel::kMax) return result.speedup;
  }
  return std::nullopt;
}

}  // namespace adagp::study
