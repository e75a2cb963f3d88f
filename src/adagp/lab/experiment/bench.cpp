#include "adagp/lab/experiment/bench.h"

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/threads.h"
#include "adagp/base/schedule/schedule.h"
#include "adagp/engine/layers/from_model.h"
#include "adagp/engine/run/precision.h"
#include "adagp/engine/step/session.h"
#include "adagp/engine/train/build.h"
#include "adagp/gpu/device/choose_device.h"
#include "adagp/gpu/device/kernels.h"
#include "adagp/lab/experiment/made_up_task.h"
#include "adagp/lab/experiment/peak_memory.h"
#include "adagp/results/report/table.h"

namespace adagp::experiment {
namespace {

constexpr int64_t kBatchesForShare = 1000;
constexpr double kMiB = 1024.0 * 1024.0;

// MACs of the predictor's FC per batch over MACs of the network's forward pass.
double predictor_cost(const layers::Table& table, const config::RunConfig& config) {
  const double fc = static_cast<double>(predictor::feature_count(config.predictor)) *
                    static_cast<double>(layers::total_weights(table));
  return fc / (static_cast<double>(layers::total_macs(table)) * static_cast<double>(config.batch));
}

// Bytes a GP step must move beyond the forward pass: the activations are read once more, weight and
// momentum in and out (4 times 4 bytes), the bf16 copy out.
double predictor_bytes(const layers::Table& table, const config::RunConfig& config) {
  double activations = 0;
  for (const auto& row : table.rows) activations += static_cast<double>(row.output_bytes);
  const bool low = config.precision == "bf16";
  return activations / (low ? 2 : 1) * static_cast<double>(config.batch) +
         static_cast<double>(layers::total_weights(table)) * (low ? 18 : 16);
}

// Before this process takes any steps: Linux counts its memory at that time as theirs.
StepTimes::Peak host_peaks(const PeakMeter& meter) {
  const auto peak = [&](const std::string& kind) {
    try {
      return meter(kind);
    } catch (const Error& error) {
      core::log_warning(core::cat("peak memory of a ", kind, " step: not measured: ", error.what(),
                                  "; bench --only ", kind, " says why"));
      return 0.0;
    }
  };
  return {.forward = peak("forward"), .bp = peak("bp"), .gp = peak("gp")};
}

std::string milliseconds(const step::Timing& timing) {
  return core::fixed(timing.median * 1e3, 3);
}

// So much that their median says little.
bool times_vary(const StepTimes& times) {
  const auto varies = [](const step::Timing& t) { return t.p90 > 3 * t.p10; };
  return varies(times.forward) || varies(times.gp) || varies(times.bp) || varies(times.bp_train) ||
         varies(times.method);
}

std::string spread(const step::Timing& timing) {
  return core::cat(core::fixed(timing.p10 * 1e3, 3), " .. ", core::fixed(timing.p90 * 1e3, 3));
}

}  // namespace

BenchResult bench(config::RunConfig config, const std::string& input, int repeats,
                  const std::string& only, const PeakMeter& host_peak) {
  core::check_thread_count("threads", config.threads);
  const task::TaskPtr task = made_up_task(config, input);
  task->resolve(config);
  run::resolve_precision(config);

  BenchResult out;
  const at::Device device = device::choose_device(config.device);
  const auto measure = [&](const std::string& kind, int rounds) {
    train::set_threads(config);
    const std::vector<std::string> kinds =
        kind.empty() ? std::vector<std::string>() : std::vector<std::string>{kind};
    return measure_steps(config, task, task->example(config, config.batch, device), rounds, kinds);
  };
  StepTimes::Peak host;
  if (device.is_cpu() && only.empty() && host_peak) host = host_peaks(host_peak);
  out.times = measure(only, repeats);
  if (device.is_cpu()) out.times.peak = host;
  out.device = device_name(device);
  out.method = config.method;

  const auto schedule = schedule::Schedule::parse(config.schedule, config.epochs);
  const double f = out.gp_share = schedule.predicted_share(config.epochs, kBatchesForShare);
  const double bp = out.times.bp.median;
  out.speedup = bp / ((1 - f) * out.times.bp_train.median + f * out.times.gp.median);
  out.ceiling = bp / ((1 - f) * bp + f * out.times.forward.median);
  auto net = task::build_net(config, *task);
  const auto table = layers::from_model(*net, config.model.name, task->input_name(config));
  out.predictor_macs = predictor_cost(table, config);
  if (const double bandwidth = memory_bandwidth(device); bandwidth > 0) {
    out.roofline = predictor_bytes(table, config) / bandwidth;
  }
  return out;
}

std::string BenchResult::text() const {
  report::Table table({"<step", "ms", "10 .. 90 %", "ratio", "<to"});
  const auto row = [&](const char* name, const step::Timing& t, const step::Timing& base,
                       const char* to) {
    if (t.median == 0) return;
    const bool ratio = base.median > 0;  // with --only, the base may not be measured
    table.add_row({name, milliseconds(t), spread(t),
                   ratio ? core::fixed(t.median / base.median, 3) : "-", ratio ? to : "-"});
  };
  row("forward, no graph of autograd", times.forward, times.forward, "forward");
  row("GP", times.gp, times.forward, "forward");
  row("  predictor and update alone", times.predict, times.forward, "forward");
  row("evaluation", times.eval, times.forward, "forward");
  row("BP", times.bp, times.bp, "BP");
  row("BP + predictor training", times.bp_train, times.bp, "BP");
  row(("full batch of " + method).c_str(), times.method, times.bp, "BP");
  row("  optimizer alone", times.update, times.bp, "BP");
  row("  making a batch", times.data, times.bp, "BP");
  std::string out =
      core::cat(table.console(), "\n", device, times.graphs ? ", replayed CUDA graphs" : "");
  const bool all = times.forward.median > 0 && times.gp.median > 0 && times.bp.median > 0 &&
                   times.bp_train.median > 0;
  if (all) {
    out += core::cat("\nGP share of the schedule ", core::fixed(gp_share, 4), ": speed-up over BP ",
                     core::fixed(speedup, 3), ", with a free predictor ", core::fixed(ceiling, 3),
                     " (", core::fixed(100 * speedup / ceiling, 1),
                     " % reached)\nthe predictor's FC is ", core::fixed(100 * predictor_macs, 1),
                     " % of the forward pass's MACs");
  }
  if (all && roofline > 0) {
    out +=
        core::cat("; at the memory's speed, with a pass of its own over the activations, it needs ",
                  core::fixed(1e3 * roofline, 3), " ms, a GP step ",
                  core::fixed(1 + roofline / times.forward.median, 3), " forward passes");
  }
  if (times_vary(times)) {
    out +=
        "\nequal steps took times that differ by more than a factor of 3: do other programs use "
        "the machine? On a CPU OMP_WAIT_POLICY=passive helps then (docs/faq.md)";
  }
  const char* before = "\npeak memory: ";
  for (const auto& [name, bytes] :
       {std::pair{"forward", times.peak.forward}, std::pair{"GP", times.peak.gp},
        std::pair{"BP", times.peak.bp}}) {
    if (bytes == 0) continue;  // not measured
    out += core::cat(before, name, " ", core::human_bytes(bytes));
    before = ", ";
  }
  return out;
}

nlohmann::json BenchResult::to_json() const {
  const auto ms = [](const step::Timing& t) { return 1e3 * t.median; };
  const auto mebibytes = [](double bytes) {  // null: not measured
    return bytes > 0 ? nlohmann::json(bytes / kMiB) : nlohmann::json();
  };
  const auto range = [](const step::Timing& t) {
    return nlohmann::json::array({1e3 * t.p10, 1e3 * t.p90});
  };
  nlohmann::json out{
      {"fw_ms", ms(times.forward)},
      {"bp_ms", ms(times.bp)},
      {"bp_train_ms", ms(times.bp_train)},
      {"gp_ms", ms(times.gp)},
      {"eval_ms", ms(times.eval)},
      {"opt_ms", ms(times.update)},
      {"pred_ms", ms(times.predict)},
      {"data_ms", ms(times.data)},
      {"ratio_gp_fw", gp_over_forward()},
      {"ratio_bptrain_bp", train_over_bp()},
      {"ratio_bw_fw", (times.bp.median - times.forward.median) / times.forward.median},
      {"gp_share", gp_share},
      {"ceiling", ceiling},
      {"speedup", speedup},
      {"share_of_ceiling", speedup / ceiling},
      {"roofline_pred_ms", 1e3 * roofline},
      {"predictor_macs_over_forward", predictor_macs},
      {"peak_mib",
       {{"fw", mebibytes(times.peak.forward)},
        {"bp", mebibytes(times.peak.bp)},
        {"gp", mebibytes(times.peak.gp)}}},
      {"spread",
       {{"fw_ms", range(times.forward)},
        {"bp_ms", range(times.bp)},
        {"bp_train_ms", range(times.bp_train)},
        {"gp_ms", range(times.gp)}}},
      {"graph", times.graphs},
      {"device", device}};
  if (times.method.median > 0) {
    out["method"] = method;
    out["method_ms"] = ms(times.method);
    if (times.bp.median > 0) out["ratio_method_bp"] = times.method.median / times.bp.median;
  }
  return out;
}

}  // namespace adagp::experiment
