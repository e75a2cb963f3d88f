#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/output.h"
#include "adagp/papers/study/paper.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/published.h"
#include "adagp/results/report/table.h"

namespace adagp::study {
namespace {

using nlohmann::ordered_json;

std::string paper_name(const std::string& model) {
  for (const PaperNetwork& network : kPaperNetworks) {
    if (model == network.model) return network.name;
  }
  return model;
}

std::string comparison_table(const PaperResult& result) {
  report::Table table({"<where", "<what", "paper", "ours", "ours/paper", "note"});
  std::vector<Note> notes;
  for (const Comparison& one : result.comparisons) {
    std::string mark;
    if (one.note.reason != Reason::kNone) {
      size_t at = 0;
      while (at < notes.size() && notes[at] != one.note) ++at;
      if (at == notes.size()) notes.push_back(one.note);
      mark = core::cat("[", at + 1, "]");
    }
    const auto ratio = one.ratio();
    table.add_row({one.place, one.what, one.published ? figure_text(*one.published) : "",
                   one.ours ? figure_text(*one.ours) : "-", ratio ? core::fixed(*ratio, 3) : "",
                   mark});
  }
  std::string text = table.console() + "\n";
  for (size_t i = 0; i < notes.size(); ++i) {
    const Note& note = notes[i];
    text += core::cat("[", i + 1, "] ", reason_name(note.reason), ": ", note.text,
                      note.command.empty() ? "" : ": " + note.command, "\n");
  }
  return text;
}

std::string network_table(const PaperResult& result) {
  report::Table table({"<network", "<input", "<dataflow", "LOW (x)", "Efficient (x)", "MAX (x)",
                       "BW/FW", "bound (x)", "MAX memory energy ratio", "MAX energy ratio"});
  for (const NetworkResult& one : result.networks) {
    table.add_row({paper_name(one.network), one.input, one.dataflow, core::fixed(one.low, 3),
                   core::fixed(one.efficient, 3), core::fixed(one.max, 3),
                   core::fixed(one.backward_over_forward, 3), core::fixed(one.bound, 3),
                   core::fixed(one.memory_energy, 3), core::fixed(one.energy, 3)});
  }
  return table.console();
}

std::string layer_lines(const PaperResult& result) {
  report::Table table({"<Fig. 16: VGG13, ws", "<layer", "baseline (cycles)",
                       "Efficient warm-up (cycles)", "Efficient BP (cycles)",
                       "Efficient GP (cycles)"});
  for (const LayerPhases& layer : result.layers) {
    table.add_row({layer.input, layer.layer, figure_text(layer.baseline),
                   figure_text(layer.warm_up), figure_text(layer.backprop),
                   figure_text(layer.predict)});
  }
  return table.console();
}

std::string pipeline_lines(const PaperResult& result) {
  report::Table table({"<Fig. 20: ImageNet, ws, networks' cycles", "<pipeline", "LOW (x)",
                       "Efficient (x)", "MAX (x)"});
  for (const PipelineResult& one : result.pipelines) {
    table.add_row({paper_name(one.network), one.schedule, core::fixed(one.low, 3),
                   core::fixed(one.efficient, 3), core::fixed(one.max, 3)});
  }
  return table.console();
}

std::string energy_lines(const PaperResult& result) {
  report::Table table({"<Fig. 21: memory accesses, ImageNet, ws", "baseline (MJ)", "Efficient (MJ)",
                       "MAX (MJ)", "Efficient (ratio)", "MAX (ratio)"});
  for (const NetworkResult* one : chosen(result.networks, "ws", "imagenet")) {
    const auto& [baseline, efficient, max] = one->memory_joules;
    table.add_row({paper_name(one->network), core::fixed(baseline / 1e6, 3),
                   core::fixed(efficient / 1e6, 3), core::fixed(max / 1e6, 3),
                   core::fixed(efficient / baseline, 3), core::fixed(max / baseline, 3)});
  }
  return table.console();
}

}  // namespace

std::string figure_text(double value) {
  const double size = std::fabs(value);
  if (size >= 0.1 && size < 1000) return core::fixed(value, 3);
  std::ostringstream out;
  out.precision(size < 0.1 ? 3 : size < 1e7 ? 7 : 5);
  out << value;
  return out.str();
}

std::string paper_text(const PaperResult& result, bool per_network) {
  std::string text = layer_lines(result) + "\n";
  if (per_network) text += network_table(result) + "\n" + pipeline_lines(result) + "\n";
  text += energy_lines(result) + "\n" + comparison_table(result) + "\n";
  if (!result.absent.empty()) {
    text += "Without a layer table here, and left out of the means: " +
            core::join(result.absent, ", ") + "\n";
  }
  for (const auto& remark : result.remarks) text += remark + "\n";
  const PaperCount found = count(result);
  return text + core::cat(found.with_ours + found.explained, " of ", found.published,
                          " published numbers, ", found.with_ours, " with ours, ", found.explained,
                          " explained\n");
}

std::string paper_json(const PaperResult& result) {
  ordered_json out;
  out["comparisons"] = ordered_json::array();
  for (const Comparison& one : result.comparisons) {
    ordered_json row = {{"where", one.place}, {"what", one.what}};
    row["published"] = one.published ? ordered_json(*one.published) : ordered_json(nullptr);
    row["ours"] = one.ours ? ordered_json(*one.ours) : ordered_json(nullptr);
    const auto ratio = one.ratio();
    row["ratio"] = ratio ? ordered_json(*ratio) : ordered_json(nullptr);
    if (one.note.reason != Reason::kNone) {
      row["reason"] = reason_name(one.note.reason);
      row["note"] = one.note.text;
    }
    if (!one.note.command.empty()) row["command"] = one.note.command;
    if (one.again) row["again"] = true;
    out["comparisons"].push_back(std::move(row));
  }
  out["networks"] = ordered_json::array();
  for (const NetworkResult& one : result.networks) {
    out["networks"].push_back({{"network", one.network},
                               {"input", one.input},
                               {"dataflow", one.dataflow},
                               {"low", one.low},
                               {"efficient", one.efficient},
                               {"max", one.max},
                               {"backward_over_forward", one.backward_over_forward},
                               {"bound", one.bound},
                               {"memory_energy_ratio", one.memory_energy},
                               {"energy_ratio", one.energy},
                               {"memory_joules", one.memory_joules}});
  }
  out["layers"] = ordered_json::array();
  for (const LayerPhases& layer : result.layers) {
    out["layers"].push_back({{"input", layer.input},
                             {"name", layer.layer},
                             {"baseline_cycles", layer.baseline},
                             {"warm_up_cycles", layer.warm_up},
                             {"bp_cycles", layer.backprop},
                             {"gp_cycles", layer.predict}});
  }
  out["pipelines"] = ordered_json::array();
  for (const PipelineResult& one : result.pipelines) {
    out["pipelines"].push_back({{"network", one.network},
                                {"schedule", one.schedule},
                                {"low", one.low},
                                {"efficient", one.efficient},
                                {"max", one.max}});
  }
  const PaperCount found = count(result);
  out["count"] = {{"published", found.published},
                  {"with_ours", found.with_ours},
                  {"explained", found.explained}};
  out["absent"] = result.absent;
  out["remarks"] = result.remarks;
  return dump(out, 2) + "\n";
}

std::vector<std::pair<std::string, report::BarChart>> paper_charts(const PaperResult& result) {
  std::vector<std::pair<std::string, report::BarChart>> charts;
  const auto draw = [&](const std::string& name, const std::string& title,
                        const std::string& x_title, const std::string& y_title, double reference,
                        std::vector<report::BarSeries> series, const auto& fill) {
    report::BarChart chart{title, x_title, y_title, {}, std::move(series), reference};
    fill([&](const std::string& category, std::initializer_list<double> values) {
      chart.categories.push_back(category);
      auto next = chart.series.begin();
      for (const double value : values) (next++)->values.push_back(value);
    });
    if (!chart.categories.empty()) charts.emplace_back(name + ".svg", std::move(chart));
  };
  const std::vector<report::BarSeries> designs{
      {"LOW", {}, 0}, {"Efficient", {}, 1}, {"MAX", {}, 2}};
  for (const auto& [input, name] : {std::pair{"cifar", "CIFAR-10"}, {"imagenet", "ImageNet"}}) {
    draw(core::cat("fig16-", input), core::cat("Fig. 16: VGG13, ", name, ", ws, design Efficient"),
         "layer", "cycles", 0,
         {{"original", {}, 0}, {"warm-up", {}, 1}, {"phase BP", {}, 1}, {"phase GP", {}, 1}},
         [&, input = std::string(input)](const auto& bar) {
           for (const LayerPhases& one : result.layers) {
             if (one.input != input) continue;
             bar(one.layer, {one.baseline, one.warm_up, one.backprop, one.predict});
           }
         });
  }
  for (const SpeedupFigure& figure : kSpeedups) {
    draw("fig" + std::string(figure.place).substr(5),
         core::cat(figure.place, ": speed-up over the baseline, ", figure.dataflow),
         "network and data set", "speed-up", 1, designs, [&](const auto& bar) {
           for (const NetworkResult* one : chosen(result.networks, figure.dataflow, "")) {
             bar(paper_name(one->network) + " " + one->input, {one->low, one->efficient, one->max});
           }
         });
  }
  for (const PipelineFigure& figure : kPipelines) {
    draw(core::cat("fig20-", figure.schedule),
         core::cat("Fig. 20: speed-up on four devices, ImageNet, ws, ", figure.name), "network",
         "speed-up", 1, designs, [&](const auto& bar) {
           for (const PipelineResult& one : result.pipelines) {
             if (one.schedule != figure.name) continue;
             bar(paper_name(one.network), {one.low, one.efficient, one.max});
           }
         });
  }
  draw("fig21", "Fig. 21: energy of memory accesses, ImageNet, ws", "network", "energy (J)", 0,
       {{"baseline", {}, 0}, {"Efficient", {}, 1}, {"MAX", {}, 2}}, [&](const auto& bar) {
         for (const NetworkResult* one : chosen(result.networks, "ws", "imagenet")) {
           const auto& [baseline, efficient, max] = one->memory_joules;
           bar(paper_name(one->network), {baseline, efficient, max});
         }
       });
  return charts;
}

}  // namespace adagp::study
