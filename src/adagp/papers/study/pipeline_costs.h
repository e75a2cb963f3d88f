#pragma once
// What the layers of a network cost as parts of a pipeline, and their cut into stages.

#include <string>
#include <vector>

#include "adagp/papers/study/study.h"
#include "adagp/sim/pipeline/cluster.h"
#include "adagp/sim/pipeline/schedules.h"

namespace adagp::study {

// Of a pass, a number of bytes or a bandwidth, where it is not 0. Far beyond any real one, and the
// times of the longest run stay finite.
constexpr double kLeastPipelineCost = 1e-18, kMostPipelineCost = 1e18;
bool is_pipeline_cost(double value);
std::string pipeline_cost_text();  // "0 or a number from 1e-18 to 1e+18"

struct PipelineItem {
  std::string name;
  pipeline::StageCost cost;
  double kept_bytes = 0;  // activations kept for the backward pass of a micro-batch
};

struct PipelineStage {
  std::string first, last;  // items
  size_t items = 0;
};

struct PipelineCosts {
  pipeline::Costs costs;              // latency and bandwidth as they were
  std::vector<PipelineStage> stages;  // empty: all alike
};

// The rows of one network on one accelerator, in cycles, for one of `micro_batches` of the batch.
// The predictor of a batch runs once, beside the last micro-batch; `design` says what it adds.
// Throws UsageError when the micro-batches do not divide the batch, or when there is more than one
// network, batch or accelerator.
std::vector<PipelineItem> accelerator_items(const Options& options, const std::string& design,
                                            int micro_batches);

// A file of measured costs, a line (CSV, with a line of titles) or an object (JSON array) per item:
// name, forward, backward; and as there are input_gradient, weight_gradient (else half of backward
// each), summary, predict_update, optimizer, predictor_step, output_bytes, weight_bytes,
// summary_bytes, kept_bytes. Throws DataError naming the file and the line.
std::vector<PipelineItem> read_items(const std::string& file);
// The same of such a file's text; `file` is for messages.
std::vector<PipelineItem> parse_items(const std::string& text, const std::string& file);

// Items into stages by forward + backward; memory: weights and their gradients, and the activations
// of as many micro-batches as the schedule keeps, with those of a low-resolution batch where one
// runs beside a BP batch (`with_low`, Schedule::pair). `limit` in bytes, 0: none.
PipelineCosts cut(const std::vector<PipelineItem>& items, const pipeline::Placement& placement,
                  double limit, bool with_low);

}  // namespace adagp::study
