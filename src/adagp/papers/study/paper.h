#pragma once
// The published evaluation beside ours: every figure and table that a simulator can give.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adagp/results/report/chart.h"

namespace adagp::study {

struct PaperOptions {
  std::string array = "12x15";
  int64_t batch = 128;
  int64_t epochs = 90;
  bool vector_passes = false;  // the paper counts the array's products
  unsigned threads = 0;
};

// One network on one data set and dataflow.
struct NetworkResult {
  std::string network, input, dataflow;
  double low = 0, efficient = 0, max = 0;  // speed-ups
  double backward_over_forward = 0;
  double bound = 0;                      // speed-up with a predictor that costs nothing
  double memory_energy = 0, energy = 0;  // of max, over the baseline's
  int64_t baseline_batch = 0;            // cycles of one batch of the baseline
};

struct Comparison {
  std::string place;  // "Fig. 17"
  std::string what;   // with its unit
  std::optional<double> published;
  double ours = 0;
  std::string note;  // where they are more than 3 % apart: why

  std::optional<double> ratio() const;  // ours / published
};

struct LayerPhases {  // Fig. 16, cycles
  std::string layer;
  double baseline = 0, warm_up = 0, backprop = 0, predict = 0;
};

// One line of Tables 4 and 5; the designs stand in the order of kResourceDesigns (published.h).
struct ResourceRow {
  std::string place, what, unit;
  std::array<double, 4> values{};
  bool derived = false;  // computed from printed lines

  double increment(size_t design) const;  // over the baseline, percent
};

struct PaperResult {
  std::vector<Comparison> comparisons;
  std::vector<NetworkResult> networks;
  std::vector<LayerPhases> layers;
  std::vector<ResourceRow> resources;
  std::vector<std::string> resource_notes;  // where Tables 4 and 5 contradict themselves or others
  std::vector<std::string> absent;          // networks of the paper without a layer table here
  std::vector<std::string> remarks;
};

PaperResult compare_with_paper(const PaperOptions& options,
                               const std::function<void(size_t, size_t)>& progress = {});

std::string paper_text(const PaperResult& result, bool per_network);
std::string paper_json(const PaperResult& result);
// File name ("fig17.svg") and picture.
std::vector<std::pair<std::string, report::BarChart>> paper_charts(const PaperResult& result);

}  // namespace adagp::study
