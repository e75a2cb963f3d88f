// Results of `adagp pipeline` as text, CSV, JSON and a picture.

#include <algorithm>
#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/pipeline.h"
#include "adagp/papers/study/pipeline_copies.h"
#include "adagp/results/report/table.h"
#include "adagp/sim/layers/table_json.h"
#include "adagp/sim/pipeline/gantt.h"

namespace adagp::study {
namespace {

using nlohmann::ordered_json;
using report::Align;

constexpr int64_t kMostBoxes = 20'000;  // of a picture

std::string count_of(int64_t number, const std::string& what) {
  return core::cat(number, " ", what, number == 1 ? "" : "es");
}

// For people: measured times have no more digits than these. JSON and CSV have all.
std::string time_text(double time) {
  if (time == std::floor(time)) return core::shortest(time);
  if (time >= 1e5) return core::fixed(time, 1);
  std::ostringstream out;
  out << time;  // six digits
  return out.str();
}

double mean_utilisation(const pipeline::Result& result) {
  double sum = 0;
  for (const double one : result.utilisation) sum += one;
  return sum / static_cast<double>(result.utilisation.size());
}

int most_stash(const pipeline::Result& result) {
  return *std::max_element(result.peak_stash.begin(), result.peak_stash.end());
}

// Throws UsageError where a picture would have too many boxes.
void check_boxes(const PipelineRun& run) {
  const int64_t boxes =
      run.sequence.batches * run.placement.micro_batches * run.placement.stages * 3;
  if (boxes > kMostBoxes) {
    throw UsageError(core::cat("pipeline: a picture of ", count_of(run.sequence.batches, "batch"),
                               ", ", run.placement.micro_batches, " micro-batches and ",
                               run.placement.stages, " stages would have up to ", boxes,
                               " boxes, expected at most ", kMostBoxes, "; use fewer batches"));
  }
}

std::string heading(const PipelineStudy& study, const PipelineRun& run) {
  const pipeline::Placement& placement = run.placement;
  return core::cat(placement.schedule, ", ", placement.devices, " stages",
                   placement.chunks() > 1 ? core::cat(" of ", placement.chunks(), " chunks") : "",
                   ", ", placement.micro_batches, " micro-batches; ",
                   pipeline::phases_text(run.sequence.cycle), ", ",
                   count_of(run.sequence.batches, "batch"), ": ", time_text(run.result.makespan),
                   " ", study.unit, "\n");
}

std::string device_table(const PipelineRun& run) {
  const bool named =
      !run.costs.stages.empty() && run.placement.replicas * run.placement.chunks() == 1;
  std::vector<report::Column> columns{
      {"device"}, {"busy"}, {"utilisation"}, {"bubbles"}, {"peak stash"}};
  if (named)
    columns.insert(columns.end(), {{"layers"}, {"from", Align::kLeft}, {"to", Align::kLeft}});
  report::Table table(columns);
  for (size_t d = 0; d < run.result.busy.size(); ++d) {
    const double used = run.result.utilisation[d];
    std::vector<std::string> cells{
        std::to_string(d), time_text(run.result.busy[d]), core::fixed(100 * used, 1) + " %",
        core::fixed(100 * (1 - used), 1) + " %", std::to_string(run.result.peak_stash[d])};
    if (named) {
      const PipelineStage& stage = run.costs.stages[d];
      cells.insert(cells.end(), {std::to_string(stage.items), stage.first, stage.last});
    }
    table.add_row(cells);
  }
  return table.console();
}

std::string one_text(const PipelineStudy& study, bool gantt) {
  const PipelineRun& run = study.runs[0];
  std::string text = heading(study, run) + study.missing_lines + "\n";
  if (gantt) {
    text += gantt_text(pipeline_events(run), run.placement.devices) +
            "\nF forward, G forward of a GP batch, B backward (I input, W weight gradient), "
            "P predict-update,\nO optimizer, with the number of the micro-batch; small letters: a "
            "low-resolution batch\n\n";
  }
  text += device_table(run);
  text += core::cat("\nsynchronisations of replicas ", run.result.synchronisations,
                    ", messages between stages ", run.result.messages, "\n");
  text += core::cat("speed-up over BP alone: GP : BP = 1 : 1 without end ",
                    core::fixed(run.steady_limit(), 3), "; ", study.epochs, " epochs of ",
                    count_of(run.batches_per_epoch, "batch"), " (", study.training, ") ",
                    core::fixed(run.training.speedup(), 3), "\n");
  if (run.copies > 1) text += copies_text(run);
  return text;
}

report::Table runs_table(const PipelineStudy& study, bool exact) {
  std::vector<report::Column> columns{{"schedule", Align::kLeft},
                                      {"stages"},
                                      {"micro-batches"},
                                      {"phases", Align::kLeft},
                                      {"batches"},
                                      {"makespan"},
                                      {"utilisation"},
                                      {"peak stash"},
                                      {"synchronisations"},
                                      {"1:1 limit"},
                                      {core::cat(study.epochs, " epochs")}};
  if (exact) columns.insert(columns.end(), {{"missing_share"}, {"missing_unknown"}});
  const bool copies = exact || several_copies(study);
  if (copies) {
    const auto more = copies_columns(exact);
    columns.insert(columns.end(), more.begin(), more.end());
  }
  report::Table table(columns);
  const auto number = [&](double value, int digits) {
    return exact ? core::shortest(value) : core::fixed(value, digits);
  };
  for (const PipelineRun& run : study.runs) {
    std::vector<std::string> cells{run.placement.schedule,
                                   std::to_string(run.placement.devices),
                                   std::to_string(run.placement.micro_batches),
                                   pipeline::phases_text(run.sequence.cycle),
                                   std::to_string(run.sequence.batches),
                                   core::shortest(run.result.makespan),
                                   number(mean_utilisation(run.result), 3),
                                   std::to_string(most_stash(run.result)),
                                   std::to_string(run.result.synchronisations),
                                   number(run.steady_limit(), 3),
                                   number(run.training.speedup(), 3)};
    if (exact) {
      cells.push_back(core::shortest(study.missing.share));
      cells.push_back(std::to_string(study.missing.unknown));
    }
    if (copies) {
      const auto more = copies_cells(run, exact);
      cells.insert(cells.end(), more.begin(), more.end());
    }
    table.add_row(std::move(cells));
  }
  return table;
}

ordered_json run_json(const PipelineStudy& study, const PipelineRun& run) {
  ordered_json out;
  out["schedule"] = run.placement.schedule;
  out["stages"] = run.placement.devices;
  out["micro_batches"] = run.placement.micro_batches;
  out["phases"] = pipeline::phases_text(run.sequence.cycle);
  out["makespan"] = run.result.makespan;
  out["utilisation"] = run.result.utilisation;
  out["peak_stash"] = run.result.peak_stash;
  out["synchronisations"] = run.result.synchronisations;
  out["unit"] = study.unit;
  out["batches"] = run.sequence.batches;
  out["chunks"] = run.placement.chunks();
  out["busy"] = run.result.busy;
  out["messages"] = run.result.messages;
  out["missing"] = layers::missing_json(study.missing);
  out["steady_speedup"] = run.steady_limit();
  out["training"] = {{"schedule", study.training},
                     {"epochs", study.epochs},
                     {"batches_per_epoch", run.batches_per_epoch},
                     {"speedup", run.training.speedup()}};
  out["copies"] = copies_json(run);
  out["parts"] = ordered_json::array();
  for (size_t s = 0; s < run.costs.costs.stages.size(); ++s) {
    const pipeline::StageCost& cost = run.costs.costs.stages[s];
    ordered_json part = {{"forward", cost.forward},
                         {"backward", cost.backward},
                         {"predict_update", cost.predict_update},
                         {"optimizer", cost.optimizer},
                         {"predictor_step", cost.predictor_step},
                         {"output_bytes", cost.output_bytes}};
    if (!run.costs.stages.empty()) {
      const PipelineStage& stage = run.costs.stages[s];
      part.update({{"layers", stage.items}, {"first", stage.first}, {"last", stage.last}});
    }
    out["parts"].push_back(std::move(part));
  }
  return out;
}

// Three colours, as in the paper's figures.
std::string colour_kind(const pipeline::Op& op) {
  switch (op.kind) {
    case pipeline::Kind::kForward:
      return "forward";
    case pipeline::Kind::kPredictUpdate:
      return "predictor";
    default:
      return "backward";
  }
}

}  // namespace

std::vector<pipeline::Event> pipeline_events(const PipelineRun& run) {
  check_boxes(run);
  std::vector<pipeline::Event> events;
  pipeline::SimulateOptions options;
  options.overlap = run.overlap;
  options.on_event = [&](const pipeline::Event& event) { events.push_back(event); };
  simulate(run.placement, sequence_costs(run), run.sequence, options);
  return events;
}

pipeline::OpLists pipeline_op_lists(const PipelineRun& run) {
  check_boxes(run);
  pipeline::Request request = pipeline::request_of(run.placement);
  request.overlap = run.overlap;
  request.phases.clear();
  for (int64_t i = 0; i < run.sequence.batches; ++i) {
    request.phases.push_back(
        run.sequence.cycle[static_cast<size_t>(i) % run.sequence.cycle.size()]);
  }
  return pipeline::make_op_lists(request);
}

std::string pipeline_text(const PipelineStudy& study, bool gantt) {
  if (study.runs.size() == 1 && study.skipped.empty()) return one_text(study, gantt);
  if (gantt) {
    throw UsageError(core::cat("pipeline: --gantt is for one run, got ", study.runs.size()));
  }
  std::string text =
      core::cat("times in ", study.unit, "; speed-ups over BP alone, schedule ", study.training,
                "\n", study.missing_lines, "\n", runs_table(study, false).console());
  if (several_copies(study)) text += kCopiesNote;
  if (!study.skipped.empty()) {
    text += core::cat("\nleft out, ", study.skipped.size(),
                      " in all; the first: ", study.skipped.front(), "\n");
  }
  return text;
}

std::string pipeline_csv(const PipelineStudy& study) {
  return runs_table(study, true).csv();
}

std::string pipeline_json(const PipelineStudy& study, bool gantt) {
  const auto one = [&](const PipelineRun& run) {
    ordered_json out = run_json(study, run);
    if (!gantt) return out;
    out["events"] = ordered_json::array();
    for (const report::GanttBox& box : pipeline_chart(study, run).boxes) {
      out["events"].push_back({box.lane, box.start, box.end, box.label, box.kind});
    }
    return out;
  };
  if (study.runs.size() == 1 && study.skipped.empty()) return dump(one(study.runs[0]), 2) + "\n";
  ordered_json out = ordered_json::array();
  for (const PipelineRun& run : study.runs) out.push_back(one(run));
  return dump(out, 2) + "\n";
}

report::GanttChart pipeline_chart(const PipelineStudy& study) {
  if (study.runs.size() != 1) {
    throw UsageError(
        core::cat("pipeline: --plot is for one run, or for several numbers of copies; "
                  "got ",
                  study.runs.size(), " runs"));
  }
  return pipeline_chart(study, study.runs[0]);
}

report::GanttChart pipeline_chart(const PipelineStudy& study, const PipelineRun& run) {
  report::GanttChart chart;
  std::string title = heading(study, run);
  title.pop_back();
  chart.title = title;
  chart.x_title = study.unit;
  for (int d = 0; d < run.placement.devices; ++d) chart.lanes.push_back(core::cat("device ", d));
  for (const pipeline::Event& event : pipeline_events(run)) {
    if (event.end <= event.start) continue;
    chart.boxes.push_back({static_cast<size_t>(event.device), event.start, event.end,
                           event.op.micro < 0 ? "" : std::to_string(event.op.micro),
                           colour_kind(event.op)});
  }
  return chart;
}

}  // namespace adagp::study
