// Fig. 20: pipelines over four devices, by counting steps and with the networks' own cycles.

#include <algorithm>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/pipeline.h"
#include "adagp/papers/study/published.h"
#include "adagp/sim/accel/sweep.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::study {
namespace {

constexpr int kDevices = 4, kMicroBatches = 4;

PipelineOptions pipeline_options(const PaperOptions& paper, const PipelineFigure& figure) {
  PipelineOptions options;
  options.schedules = figure.schedule;
  options.stages = std::to_string(kDevices);
  options.micro_batches = std::to_string(kMicroBatches);
  options.epochs = paper.epochs;
  return options;
}

// The costliest stage sets the pace.
PipelineResult with_cycles(const PaperOptions& paper, const std::string& network,
                           const PipelineFigure& figure) {
  PipelineOptions options = pipeline_options(paper, figure);
  options.accelerator = options_for(paper, network, "imagenet", "ws");
  const auto speedup = [&](const char* design) {
    options.design = design;
    return run_pipelines(options).runs[0].training.speedup();
  };
  return {network, figure.name, speedup("low"), speedup("efficient"), speedup("max")};
}

void compare_steps(const PaperOptions& paper, const PipelineFigure& figure, PaperResult& result) {
  PipelineOptions options = pipeline_options(paper, figure);
  const auto add_row = [&](const std::string& what, double published, double ours,
                           const Note& note) {
    add(result, {"Fig. 20", core::cat(figure.name, ", ", what), published, ours}, note);
  };
  const auto steps = [&](const char* phases) {
    options.phases = phases;
    return run_pipelines(options).runs[0].result.makespan;
  };
  add_row("one BP batch (steps)", figure.one_batch, steps("bp"), {});
  add_row("a GP batch, then a BP batch (steps)", figure.gp_then_bp, steps("gp-bp"), {});
  const PipelineRun run = run_pipelines(options).runs[0];
  add_row(core::cat(paper.epochs, " epochs: mean, ours in steps (x)"), figure.mean,
          run.training.speedup(),
          {Reason::kNotStated, core::cat("ours is the schedule over ", paper.epochs,
                                         " epochs; the published run's is not stated")});
  add_row("1:1 without end: largest, ours in steps (x)", figure.largest, run.steady_limit(), {});
}

}  // namespace

void compare_pipelines(const PaperOptions& paper, PaperResult& result) {
  for (const PipelineFigure& figure : kPipelines) compare_steps(paper, figure, result);
  const PipelineRun run = run_pipelines(pipeline_options(paper, kPipelines[0])).runs[0];
  add(result,
      {"Fig. 20", "GPipe, a GP batch in a stream of them (steps)", kStreamingSteps,
       pipeline::steady_time(run.placement, run.costs.costs, {pipeline::Phase::kPredict})},
      {});
  result.remarks.push_back(
      "Fig. 20 counts steps (forward 1, backward 2, four equal stages). That leaves out unequal "
      "stages, messages, the predictor's own work (four calls a batch when every micro-batch is "
      "predicted on its own), and the exchange of summaries between Chimera's replicas after every "
      "GP batch, without which they drift apart; the warm-up epochs and the phase changes are in "
      "ours over 90 epochs, not in the limit. The table by network has unequal stages and the "
      "predictor of the design; docs/pipelines.md.");
  if (paper.batch % kMicroBatches != 0) return;  // cannot be cut
  for (const PaperNetwork& network : kPaperNetworks) {
    const auto inputs = zoo::inputs(network.model);
    if (std::find(inputs.begin(), inputs.end(), "imagenet") == inputs.end()) continue;
    for (const PipelineFigure& figure : kPipelines) {
      result.pipelines.push_back({network.model, figure.name});
    }
  }
  accel::for_each(result.pipelines.size(), paper.threads, [&](size_t i) {
    PipelineResult& one = result.pipelines[i];
    one = with_cycles(paper, one.network, kPipelines[i % kPipelines.size()]);
  });
}

}  // namespace adagp::study
