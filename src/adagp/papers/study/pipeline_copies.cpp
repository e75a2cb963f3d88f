#include "adagp/papers/study/pipeline_copies.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::study {
namespace {

constexpr size_t kMostLines = 24;  // of a picture

// The largest share of the time in which a device only waits for the other copies.
double waiting_share(const PipelineRun& run) {
  const auto& waits = run.result.exchange_wait;
  const double most = *std::max_element(waits.begin(), waits.end());
  return run.result.makespan > 0 ? most / run.result.makespan : 0;
}

struct Speeds {  // of a device, as multiples of BP's on one copy
  double exact, accumulated, mixed;
};

Speeds speeds_of(const PipelineRun& run) {
  return {run.ideal / run.steady.exact, run.ideal / run.steady.accumulated,
          run.ideal / run.steady.mixed};
}

std::string group_of(const PipelineRun& run) {
  std::string text = core::cat(run.placement.schedule, " ", run.placement.devices, " x ",
                               run.placement.micro_batches);
  if (run.batch == 0) return text;
  if (run.shared_batch) return text + core::cat(", batch ", run.batch);
  return text + core::cat(", batch ", run.batch / run.copies, " a copy");
}

}  // namespace

const char* const kCopiesNote =
    "\nbatch: examples of all copies. waits: the largest share of its time that a device only "
    "waits "
    "for\nan exchange. bp, accumulated, 1:1: examples per device and time without end, as a "
    "multiple of BP on\none copy. accumulated: BP on two batches with one exchange, which is as "
    "much "
    "traffic as 1:1.\n";

bool several_copies(const PipelineStudy& study) {
  return std::any_of(study.runs.begin(), study.runs.end(),
                     [](const PipelineRun& run) { return run.copies > 1; });
}

std::vector<report::Column> copies_columns(bool exact) {
  if (exact) {
    return {{"copies"},     {"batch"}, {"exchange_wait"}, {"bp_speed"}, {"accumulated_speed"},
            {"mixed_speed"}};
  }
  return {{"copies"}, {"batch"}, {"waits"}, {"bp"}, {"accumulated"}, {"1:1"}};
}

std::vector<std::string> copies_cells(const PipelineRun& run, bool exact) {
  const auto number = [&](double value) {
    return exact ? core::shortest(value) : core::fixed(value, 3);
  };
  const Speeds speeds = speeds_of(run);
  const std::string unknown = exact ? "" : "-";
  return {std::to_string(run.copies), run.batch > 0 ? std::to_string(run.batch) : unknown,
          number(waiting_share(run)), number(speeds.exact),
          number(speeds.accumulated), number(speeds.mixed)};
}

std::string copies_text(const PipelineRun& run) {
  const Speeds speeds = speeds_of(run);
  return core::cat(
      run.copies, " copies", run.batch > 0 ? core::cat(", batch ", run.batch) : "",
      ": a device waits for the others in at most ", core::fixed(100 * waiting_share(run), 1),
      " % of the time; its speed without end, as a multiple of BP on one copy: bp ",
      core::fixed(speeds.exact, 3), ", accumulated ", core::fixed(speeds.accumulated, 3),
      ", GP : BP = 1 : 1 ", core::fixed(speeds.mixed, 3), "\n");
}

nlohmann::ordered_json copies_json(const PipelineRun& run) {
  const Speeds speeds = speeds_of(run);
  const pipeline::Copies& copies = run.costs.costs.copies;
  nlohmann::ordered_json out = {{"count", run.copies},
                                {"latency", copies.latency},
                                {"bandwidth", copies.bandwidth},
                                {"bucket_bytes", copies.bucket_bytes},
                                {"exchange_wait", run.result.exchange_wait},
                                {"bp_time", run.steady.exact},
                                {"accumulated_time", run.steady.accumulated},
                                {"mixed_time", run.steady.mixed},
                                {"bp_speed", speeds.exact},
                                {"accumulated_speed", speeds.accumulated},
                                {"mixed_speed", speeds.mixed}};
  out["batch"] = run.batch > 0 ? nlohmann::ordered_json(run.batch) : nlohmann::ordered_json();
  return out;
}

report::LineChart scaling_chart(const PipelineStudy& study) {
  report::LineChart chart;
  chart.title = "Speed of a device over the copies of the pipeline";
  chart.x_title = "copies";
  chart.y_title = "examples per device and time, BP on one copy = 1";
  chart.log_x = true;
  std::map<std::string, std::vector<const PipelineRun*>> groups;
  std::vector<std::string> order;
  for (const PipelineRun& run : study.runs) {
    auto& group = groups[group_of(run)];
    if (group.empty()) order.push_back(group_of(run));
    group.push_back(&run);
  }
  if (3 * order.size() > kMostLines) {
    throw UsageError(core::cat("pipeline: --plot: ", 3 * order.size(), " lines, expected at most ",
                               kMostLines,
                               "; give fewer schedules, stages, micro-batches or "
                               "batch sizes"));
  }
  for (size_t g = 0; g < order.size(); ++g) {
    const std::string name = order.size() > 1 ? order[g] + ": " : "";
    report::LineSeries exact{name + "BP"}, accumulated{name + "BP, two batches per exchange"},
        mixed{name + "GP : BP = 1 : 1"};
    exact.stroke = report::Stroke::kSolid;
    accumulated.stroke = report::Stroke::kDotted;
    mixed.stroke = report::Stroke::kDashed;
    // Lines of one group share a colour, where there are several groups.
    if (order.size() > 1) exact.colour = accumulated.colour = mixed.colour = static_cast<int>(g);
    exact.marker = 1;
    accumulated.marker = 2;
    mixed.marker = 3;
    for (const PipelineRun* run : groups[order[g]]) {
      const Speeds speeds = speeds_of(*run);
      exact.points.emplace_back(run->copies, speeds.exact);
      accumulated.points.emplace_back(run->copies, speeds.accumulated);
      mixed.points.emplace_back(run->copies, speeds.mixed);
    }
    for (auto* line : {&exact, &accumulated, &mixed}) chart.series.push_back(std::move(*line));
  }
  return chart;
}

}  // namespace adagp::study
