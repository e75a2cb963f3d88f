#include "adagp/engine/method/equal_time.h"

#include <algorithm>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/method/backprop.h"
#include "adagp/engine/method/entries.h"
#include "adagp/engine/step/step_timer.h"
#include "adagp/gpu/device/choose_device.h"
#include "adagp/results/report/summary.h"

namespace adagp::method {
int64_t budget_batches(double seconds, double seconds_per_batch, int64_t most) {
  return std::clamp<int64_t>(std::llround(seconds / seconds_per_batch), 1, most);
}

namespace {

constexpr int kBudgetSteps = 20;

// From the reference run's seconds and the measured time of a plain backprop step.
void fix_budget(config::RunConfig& config, const task::TaskPtr& task,
                const task::NetMaker& make_net) {
  if (config.equal_time_batches > 0) return;
  if (config.equal_time_reference.empty()) {
    throw UsageError(
        "method equal-time needs a budget: --set equal_time.reference=RUN (the folder of a "
        "finished "
        "adagp run), or --set equal_time.batches=N");
  }
  const auto reference =
      report::Summary::read(core::fs::path(config.equal_time_reference) / "summary.json");
  const at::Device device = device::choose_device(config.device);
  const auto source = task->batches(config, task::Use::kTrain, device);
  // A typical batch: sentences come in batches of very unlike lengths.
  const data::Batch batch = task->example(config, config.batch, device);
  const double step = step::measure_exact_step(config, task, make_net, batch, kBudgetSteps);
  config.equal_time_batches =
      budget_batches(reference.train_seconds, step, config.epochs * source->batches_per_epoch());
  core::log_info(core::cat("equal-time: ", core::human_seconds(reference.train_seconds), " of ",
                           config.equal_time_reference, " buy ", config.equal_time_batches,
                           " backprop batches of ", core::fixed(step, 4), " s"));
}

int64_t budget_of(const config::RunConfig& config) {
  if (config.equal_time_batches > 0) return config.equal_time_batches;
  throw UsageError("equal_time.batches = 0: method equal-time has no budget");
}

}  // namespace

MethodEntry entries::equal_time() {
  return {.name = "equal-time",
          .about = "backprop for as long as adagp took, learning rate fully decayed",
          .standing = Standing::kControl,
          .make = maker<Backprop>(),
          .length = {budget_of, fix_budget}};
}

}  // namespace adagp::method
