#include "adagp/train/bench.h"

#include <sys/resource.h>

#include <ATen/ATen.h>

#include "adagp/core/text.h"
#include "adagp/layers/from_model.h"
#include "adagp/report/table.h"
#include "adagp/schedule/schedule.h"
#include "adagp/train/build.h"
#include "adagp/train/session.h"

namespace adagp::train {
namespace {

constexpr int64_t kBatchesForShare = 1000;

// MACs of the predictor's FC per batch over MACs of the network's forward pass.
double predictor_cost(const layers::Table& table, const Config& config) {
  const double fc = static_cast<double>(predictor::feature_count(config.predictor)) *
                    static_cast<double>(layers::total_weights(table));
  return fc / (static_cast<double>(layers::total_macs(table)) * static_cast<double>(config.batch));
}

double peak_host_bytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * static_cast<double>(usage.ru_maxrss) : 0;
}

std::string milliseconds(double seconds) {
  return core::fixed(seconds * 1e3, 3);
}

}  // namespace

BenchResult bench(Config config, const std::string& input, int repeats, const std::string& only) {
  set_threads(config);
  const auto size = layers::parse_input(input);
  const auto form = models::form_for(models::find(config.model.name), size.height, size.width);
  if (config.model.form == "auto") config.model.form = models::form_name(form);
  if (config.model.classes == 0) config.model.classes = form == models::Form::kCifar ? 10 : 1000;
  const at::Device device = choose_device(config.device);

  data::Batch batch;
  batch.images = at::randn({config.batch, size.channels, size.height, size.width})
                     .to(device)
                     .contiguous(at::MemoryFormat::ChannelsLast);
  batch.labels = at::randint(config.model.classes, {config.batch}, at::kLong).to(device);

  BenchResult out;
  out.times = measure_steps(config, batch, repeats, only);
  out.peak_bytes = peak_host_bytes();
  const auto schedule = schedule::Schedule::parse(config.schedule, config.epochs);
  const double f = out.gp_share = schedule.predicted_share(config.epochs, kBatchesForShare);
  out.speedup = out.times.bp / ((1 - f) * out.times.bp_observe + f * out.times.gp);
  out.ceiling = out.times.bp / ((1 - f) * out.times.bp + f * out.times.forward);
  auto net = build_net(config);
  out.predictor_macs = predictor_cost(
      layers::from_model(*net, config.model.name, core::cat(size.height, "x", size.width)), config);
  return out;
}

std::string BenchResult::text() const {
  report::Table table(
      {{"step", report::Align::kLeft}, {"ms"}, {"ratio"}, {"to", report::Align::kLeft}});
  table.add_row({"forward, no graph", milliseconds(times.forward), "1.000", "forward"});
  table.add_row(
      {"GP", milliseconds(times.gp), core::fixed(times.gp / times.forward, 3), "forward"});
  table.add_row({"BP", milliseconds(times.bp), "1.000", "BP"});
  table.add_row({"BP + predictor training", milliseconds(times.bp_observe),
                 core::fixed(times.bp_observe / times.bp, 3), "BP"});
  return core::cat(
      table.console(), "\nGP share of the schedule ", core::fixed(gp_share, 4),
      ": speed-up over BP ", core::fixed(speedup, 3), ", with a free predictor ",
      core::fixed(ceiling, 3), "\nthe predictor's FC is ", core::fixed(100 * predictor_macs, 1),
      " % of the forward pass's MACs; peak host memory ", core::human_bytes(peak_bytes));
}

nlohmann::json BenchResult::to_json() const {
  return {{"forward_seconds", times.forward},
          {"gp_seconds", times.gp},
          {"bp_seconds", times.bp},
          {"bp_observe_seconds", times.bp_observe},
          {"gp_over_forward", times.gp / times.forward},
          {"bp_observe_over_bp", times.bp_observe / times.bp},
          {"gp_share", gp_share},
          {"speedup", speedup},
          {"ceiling", ceiling},
          {"peak_bytes", peak_bytes},
          {"predictor_macs_over_forward", predictor_macs}};
}

}  // namespace adagp::train
