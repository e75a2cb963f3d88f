// Results of `adagp paper --energy` as text, CSV, JSON and a picture.

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/papers/study/energy_map.h"
#include "adagp/papers/study/output.h"
#include "adagp/results/report/table.h"

namespace adagp::study {
namespace {

std::string size_text(int64_t bytes) {
  return bytes % 1024 == 0 ? core::cat(bytes / 1024, " KiB") : core::cat(bytes, " B");
}

std::string per_cent(double share) {
  return core::fixed(100 * share, 1);
}

// For each DRAM energy the largest buffer at which the target is reached; 0: at none.
std::vector<int64_t> largest_buffers(const EnergyMap& map) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < map.dram.size(); ++d) {
    int64_t largest = 0;
    for (size_t b = 0; b < map.buffers.size(); ++b) {
      if (map.at(b, d).saved >= map.target) largest = std::max(largest, map.buffers[b]);
    }
    out.push_back(largest);
  }
  return out;
}

std::string where_it_holds(const EnergyMap& map) {
  const auto largest = largest_buffers(map);
  std::vector<std::string> places;
  for (size_t d = 0; d < map.dram.size(); ++d) {
    if (largest[d] > 0) {
      places.push_back(core::cat("DRAM ", map.dram[d], " pJ/bit up to ", size_text(largest[d])));
    }
  }
  const auto best =
      std::max_element(map.points.begin(), map.points.end(),
                       [](const auto& a, const auto& b) { return a.saved < b.saved; });
  const std::string most = core::cat("the most is ", per_cent(best->saved), " % (buffer ",
                                     size_text(best->buffer), ", DRAM ", best->dram, " pJ/bit)");
  return places.empty()
             ? core::cat(per_cent(map.target), " % holds in the mean at no point; ", most, "\n")
             : core::cat(per_cent(map.target),
                         " % holds in the mean at: ", core::join(places, "; "), "; ", most, "\n");
}

// The mean hides that single runs may save more.
std::string single_runs(const EnergyMap& map) {
  if (map.runs.size() < 2) return "";
  std::vector<std::string> holding;
  for (const EnergyRun& run : map.runs) {
    if (run.holds_up_to > 0) {
      holding.push_back(core::cat(run.name, " up to ", size_text(run.holds_up_to)));
    }
  }
  return core::cat("Of single runs it holds at some point for ", holding.size(), " of ",
                   map.runs.size(), holding.empty() ? "" : ": ", core::join(holding, "; "), "\n");
}

std::string needed_text(const EnergyMap& map) {
  const std::string share = core::fixed(map.gp_share, 4);
  if (std::isinf(map.needed_ratio)) {
    return core::cat("No machine saves ", per_cent(map.target), " %: only ", share,
                     " of the batches are GP batches.\n");
  }
  const auto [least, most] = std::minmax_element(
      map.points.begin(), map.points.end(), [](const EnergyPoint& a, const EnergyPoint& b) {
        return a.backward_over_forward < b.backward_over_forward;
      });
  return core::cat(
      "With f = ", share,
      " of the batches in GP, a predictor that costs nothing saves f r / (1 + r), where "
      "the\nbackward pass takes r times the energy of the forward pass. ",
      per_cent(map.target), " % needs r = ", core::fixed(map.needed_ratio, 2), "; r is ",
      core::fixed(least->backward_over_forward, 2), " to ",
      core::fixed(most->backward_over_forward, 2), " here.\n");
}

}  // namespace

std::string energy_text(const EnergyMap& map) {
  std::vector<std::string> titles{"buffer"};
  for (const double dram : map.dram) titles.push_back(core::cat(dram, " pJ/bit"));
  report::Table table(titles);
  for (size_t b = 0; b < map.buffers.size(); ++b) {
    std::vector<std::string> cells{size_text(map.buffers[b])};
    for (size_t d = 0; d < map.dram.size(); ++d) {
      const double saved = map.at(b, d).saved;
      cells.push_back(per_cent(saved) + (saved >= map.target ? " *" : "  "));
    }
    table.add_row(std::move(cells));
  }
  return core::cat("Energy of ", map.value == "memory" ? "memory accesses" : "everything",
                   " that design ", map.design, " saves against the baseline (%); ", map.heading,
                   "\n\n", table.console(), "\n* ", per_cent(map.target), " % or more\n",
                   where_it_holds(map), single_runs(map), needed_text(map));
}

std::string energy_csv(const EnergyMap& map) {
  report::Table table(
      {"buffer_bytes", "dram_pj_per_bit", "saved", "holds", "backward_over_forward", "bound"});
  for (const EnergyPoint& point : map.points) {
    table.add_row({std::to_string(point.buffer), core::shortest(point.dram),
                   core::shortest(point.saved), point.saved >= map.target ? "1" : "0",
                   core::shortest(point.backward_over_forward), core::shortest(point.bound)});
  }
  return table.csv();
}

std::string energy_json(const EnergyMap& map) {
  using nlohmann::ordered_json;
  ordered_json out = {{"design", map.design},
                      {"value", map.value},
                      {"runs", map.heading},
                      {"gp_share", map.gp_share},
                      {"target", map.target}};
  out["needed_backward_over_forward"] =
      std::isinf(map.needed_ratio) ? ordered_json() : ordered_json(map.needed_ratio);
  out["holds_up_to"] = ordered_json::array();
  const auto largest = largest_buffers(map);
  for (size_t d = 0; d < map.dram.size(); ++d) {
    ordered_json place = {{"dram_pj_per_bit", map.dram[d]}};
    place["buffer_bytes"] = largest[d] > 0 ? ordered_json(largest[d]) : ordered_json();
    out["holds_up_to"].push_back(std::move(place));
  }
  out["single_runs"] = ordered_json::array();
  for (const EnergyRun& run : map.runs) {
    ordered_json one = {{"name", run.name},
                        {"most_saved", run.saved},
                        {"buffer_bytes", run.buffer},
                        {"dram_pj_per_bit", run.dram}};
    one["holds_up_to_bytes"] = run.holds_up_to > 0 ? ordered_json(run.holds_up_to) : ordered_json();
    out["single_runs"].push_back(std::move(one));
  }
  out["points"] = ordered_json::array();
  for (const EnergyPoint& point : map.points) {
    out["points"].push_back({{"buffer_bytes", point.buffer},
                             {"dram_pj_per_bit", point.dram},
                             {"saved", point.saved},
                             {"backward_over_forward", point.backward_over_forward},
                             {"bound", point.bound}});
  }
  return dump(out, 2) + "\n";
}

report::LineChart energy_chart(const EnergyMap& map) {
  if (map.dram.size() > report::colour_count()) {
    throw UsageError(core::cat("energy: --plot: ", map.dram.size(), " lines, expected at most ",
                               report::colour_count(), "; give fewer values with --dram"));
  }
  report::LineChart chart;
  chart.title = core::cat("Energy of ", map.value == "memory" ? "memory accesses" : "everything",
                          " that design ", map.design, " saves");
  chart.x_title = "buffer (KiB)";
  chart.y_title = "saved (%)";
  chart.log_x = true;
  chart.from_zero = false;
  const auto x = [&](int64_t bytes) { return static_cast<double>(bytes) / 1024; };
  for (size_t d = 0; d < map.dram.size(); ++d) {
    report::LineSeries line{core::cat("DRAM ", map.dram[d], " pJ/bit")};
    line.marker = 1;
    for (size_t b = 0; b < map.buffers.size(); ++b) {
      line.points.emplace_back(x(map.buffers[b]), 100 * map.at(b, d).saved);
    }
    chart.series.push_back(std::move(line));
  }
  report::LineSeries target{core::cat("claimed: ", per_cent(map.target), " %")};
  target.stroke = report::Stroke::kDashed;
  for (const int64_t bytes : {map.buffers.front(), map.buffers.back()}) {
    target.points.emplace_back(x(bytes), 100 * map.target);
  }
  chart.series.push_back(std::move(target));
  return chart;
}

}  // namespace adagp::study
