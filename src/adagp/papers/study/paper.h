#pragma once
// The published evaluation beside ours: every number that it prints.

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
  std::string runs;  // folder of run folders: their accuracies instead of those of our pages
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
  // Of memory accesses over the run, J: baseline, Efficient, MAX.
  std::array<double, 3> memory_joules{};
};

// Fig. 20: speed-ups of a network over backprop on the same pipeline.
struct PipelineResult {
  std::string network, schedule;
  double low = 0, efficient = 0, max = 0;
};

// Why there is no number of ours, or another one.
enum class Reason {
  kNone,         // within 3 %: nothing to explain
  kNoData,       // we have no copy of the data set
  kNeedsRun,     // the note's command makes the number; nobody has run it to its end
  kNotStated,    // the paper does not print what the number depends on
  kUnlike,       // the two numbers are of different quantities
  kComputed,     // the note computes where the difference comes from
  kNotModelled,  // our simulators and our RTL have no such quantity
};
const char* reason_name(Reason reason);  // "no data"

struct Note {
  Reason reason = Reason::kNone;
  std::string text{};
  std::string command{};  // of kNeedsRun

  bool operator==(const Note&) const = default;
};

struct Comparison {
  std::string place;  // "Fig. 17"
  std::string what;   // with its unit
  std::optional<double> published, ours;
  Note note{};         // without ours, or more than 3 % apart
  bool again = false;  // the published number has a row already, in another reading

  std::optional<double> ratio() const;  // ours / published
};

struct LayerPhases {  // Fig. 16, cycles
  std::string input, layer;
  double baseline = 0, warm_up = 0, backprop = 0, predict = 0;
};

struct PaperResult {
  std::vector<Comparison> comparisons;  // by place
  std::vector<NetworkResult> networks;
  std::vector<PipelineResult> pipelines;
  std::vector<LayerPhases> layers;
  std::vector<std::string> absent;  // networks of the paper without a layer table here
  std::vector<std::string> remarks;
};

// How complete the comparison is. Each published number counts once.
struct PaperCount {
  size_t published = 0, with_ours = 0;
  size_t explained = 0;  // without ours, and with a reason
};
PaperCount count(const PaperResult& result);

PaperResult compare_with_paper(const PaperOptions& options,
                               const std::function<void(size_t, size_t)>& progress = {});

std::string paper_text(const PaperResult& result, bool per_network);
std::string paper_json(const PaperResult& result);
std::string figure_text(double value);  // three digits; large ones whole, or five significant
// File name ("fig17.svg") and picture.
std::vector<std::pair<std::string, report::BarChart>> paper_charts(const PaperResult& result);

}  // namespace adagp::study
