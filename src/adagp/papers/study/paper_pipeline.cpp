// Fig. 20: pipelines over four devices, by counting steps and with the networks' own cycles.

#include <algorithm>
#include <optional>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/pipeline.h"
#include "adagp/papers/study/published.h"
#include "adagp/sim/zoo/zoo.h"

namespace adagp::study {
namespace {

constexpr int kDevices = 4, kMicroBatches = 4;

struct PipelineFigure {
  const char* schedule;
  const char* name;
  double mean, largest;
};
constexpr PipelineFigure kFig20[] = {{"gpipe", "GPipe", 1.654, 1.68},
                                     {"dapple", "DAPPLE", 1.654, 1.68},
                                     {"chimera", "Chimera", 1.575, 1.60}};

PipelineOptions pipeline_options(const PaperOptions& paper, const PipelineFigure& figure) {
  PipelineOptions options;
  options.schedules = figure.schedule;
  options.stages = std::to_string(kDevices);
  options.micro_batches = std::to_string(kMicroBatches);
  options.epochs = paper.epochs;
  return options;
}

// Mean over the networks, of which the costliest stage sets the pace. 0: none can be cut.
double with_cycles(const PaperOptions& paper, const PipelineFigure& figure) {
  if (paper.batch % kMicroBatches != 0) return 0;
  double sum = 0;
  int count = 0;
  for (const PaperNetwork& network : kPaperNetworks) {
    const auto inputs = zoo::inputs(network.model);
    if (std::find(inputs.begin(), inputs.end(), "imagenet") == inputs.end()) continue;
    PipelineOptions options = pipeline_options(paper, figure);
    options.accelerator = options_for(paper, network.model, "imagenet", "ws");
    sum += run_pipelines(options).runs[0].training.speedup();
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

}  // namespace

void compare_pipelines(const PaperOptions& paper, PaperResult& result) {
  for (const PipelineFigure& figure : kFig20) {
    const PipelineStudy study = run_pipelines(pipeline_options(paper, figure));
    const PipelineRun& run = study.runs[0];
    const std::string where = core::cat(figure.name, ", 4 stages x 4 micro-batches, ");
    add(result,
        {"Fig. 20", core::cat(where, paper.epochs, " epochs: mean, ours in steps (x)"), figure.mean,
         run.training.speedup(), ""},
        core::cat("ours is the schedule over ", paper.epochs,
                  " epochs; the published run's is not "
                  "stated"));
    add(result,
        {"Fig. 20", where + "1:1 without end: largest, ours in steps (x)", figure.largest,
         run.steady_limit(), ""},
        "");
    const double cycles = with_cycles(paper, figure);
    if (cycles == 0) continue;
    result.comparisons.push_back(
        {"Fig. 20", core::cat(where, paper.epochs, " epochs: mean, networks' cycles, ws (x)"),
         std::nullopt, cycles, ""});
  }
  result.remarks.push_back(
      "Fig. 20 counts steps (forward 1, backward 2, four equal stages). That leaves out unequal "
      "stages, messages, the predictor's own work (four calls a batch when every micro-batch is "
      "predicted on its own), and the exchange of summaries between Chimera's replicas after every "
      "GP batch, without which they drift apart; the warm-up epochs and the phase changes are in "
      "ours over 90 epochs, not in the limit. Networks' cycles have unequal stages and the "
      "predictor on the stage's own array; docs/multidevice.md.");
}

}  // namespace adagp::study
