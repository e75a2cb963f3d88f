#include "adagp/results/page/run_traces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/special_files.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/table.h"

namespace adagp::page {
namespace {

std::map<std::string, size_t> layer_places(const std::string& run) {
  std::map<std::string, size_t> places;
  const core::fs::path path = core::fs::path(run) / "layers.csv";
  std::error_code ignored;
  if (!core::fs::is_regular_file(path, ignored)) return places;
  const layers::Table table = layers::from_csv(core::read_regular_file(path), path.string());
  for (const layers::Row& row : table.rows) places.emplace(row.name, places.size());
  return places;
}

using arrays::LayerTrace;
using arrays::Trace;
using nlohmann::ordered_json;

ordered_json number_json(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

std::string width_text(int bits) {
  return bits == 0 ? "fp32" : std::to_string(bits);
}

ordered_json layer_info(const LayerTrace& layer) {
  ordered_json out = {
      {"name", layer.name},
      {"density", {{"x", layer.density[0]}, {"dy", layer.density[1]}, {"w", layer.density[2]}}}};
  if (layer.mantissa) {
    const auto& m = *layer.mantissa;
    out["mantissa"] = {{"w", m[0]}, {"a", m[1]}, {"g", m[2]}};
  }
  if (layer.r) {
    const auto& r = *layer.r;
    out["r"] = {{"w", number_json(r[0])}, {"a", number_json(r[1])}, {"g", number_json(r[2])}};
  }
  return out;
}

struct View {
  const char* name;
  const char* title;
  bool bits;
  std::vector<size_t> tensors;  // of LayerTrace::density or LayerTrace::mantissa
};

const std::array<View, 8>& views() {
  static const std::array<View, 8> kViews = {{{"x", "share of zeros of X", false, {0}},
                                              {"dy", "share of zeros of dY", false, {1}},
                                              {"w", "share of zeros of W", false, {2}},
                                              {"zeros", "share of zeros", false, {0, 1, 2}},
                                              {"bits-w", "mantissa bits of W", true, {0}},
                                              {"bits-a", "mantissa bits of A", true, {1}},
                                              {"bits-g", "mantissa bits of G", true, {2}},
                                              {"bits", "mantissa bits", true, {0, 1, 2}}}};
  return kViews;
}

const View& find_view(const std::string& name) {
  std::array<const char*, 8> names{};
  for (size_t i = 0; i < names.size(); ++i) names[i] = views()[i].name;
  core::find_named(names, name, "--value", " is unknown");
  return *std::find_if(views().begin(), views().end(),
                       [&](const View& view) { return view.name == name; });
}

std::string row_name(const View& view, size_t tensor, const std::string& layer) {
  constexpr std::array kZeros = {"X", "dY", "W"}, kBits = {"W", "A", "G"};
  if (view.tensors.size() == 1) return layer;
  return core::cat((view.bits ? kBits : kZeros).at(tensor), " of ", layer);
}

double shown_value(const View& view, const LayerTrace& layer, size_t tensor) {
  if (!view.bits) return 1 - layer.density[tensor];
  return layer.mantissa ? (*layer.mantissa)[tensor] : std::numeric_limits<double>::quiet_NaN();
}

// Widths that occur, from the smallest on; fp32 is 0 and becomes the lowest value, which has a
// colour of its own.
void set_width_colours(report::HeatMap& map, const std::string& run) {
  std::set<double> widths;
  for (const auto& row : map.values) {
    for (const double value : row) {
      if (std::isfinite(value)) widths.insert(value);
    }
  }
  if (widths.empty()) {
    throw DataError(run + ": its traces have no mantissa widths: they are recorded where " +
                    "precision = \"fast\"");
  }
  map.limit = std::max(4.0, *widths.rbegin());
  for (const double bits : widths) {
    if (bits > 0) map.keys.emplace_back(bits, core::cat(core::shortest(bits), " bits"));
  }
  if (!widths.contains(0)) return;
  map.keys.emplace_back(-map.limit, "fp32");
  for (auto& row : map.values) std::replace(row.begin(), row.end(), 0.0, -map.limit);
}

}  // namespace

std::vector<arrays::Trace> run_traces(const std::string& run) {
  const std::map<std::string, size_t> places = layer_places(run);
  const auto place = [&](const arrays::LayerTrace& layer) {
    const auto found = places.find(layer.name);
    return found == places.end() ? places.size() : found->second;
  };
  std::vector<arrays::Trace> out;
  for (const core::fs::path& path : arrays::trace_files(run)) {
    arrays::Trace& trace = out.emplace_back(arrays::read_trace(path));
    std::stable_sort(trace.layers.begin(), trace.layers.end(),
                     [&](const arrays::LayerTrace& a, const arrays::LayerTrace& b) {
                       return place(a) < place(b);
                     });
  }
  return out;
}

report::Table trace_table(const std::vector<Trace>& traces) {
  report::Table table(
      {"epoch", "<layer", "X not zero (%)", "dY not zero (%)", "W not zero (%)", "bits W/A/G"});
  for (const Trace& trace : traces) {
    for (const LayerTrace& layer : trace.layers) {
      const auto percent = [&](size_t i) { return core::fixed(100 * layer.density[i], 1); };
      std::vector<std::string> widths;
      if (layer.mantissa) {
        for (const int bits : *layer.mantissa) widths.push_back(width_text(bits));
      }
      table.add_row({std::to_string(trace.epoch), layer.name, percent(0), percent(1), percent(2),
                     core::join(widths, "/")});
    }
  }
  return table;
}

std::string trace_info_text(const std::string& run) {
  const std::vector<Trace> traces = run_traces(run);
  const Trace& last = traces.back();
  return core::cat(last.network, ", ", last.input, ", batch ", last.batch, ", ", last.examples,
                   " examples with bits\n", trace_table(traces).console());
}

std::string trace_info_json(const std::string& run) {
  ordered_json out = {{"run", run}, {"epochs", ordered_json::array()}};
  for (const Trace& trace : run_traces(run)) {
    out["network"] = trace.network;
    out["input"] = trace.input;
    ordered_json epoch = {{"epoch", trace.epoch},
                          {"batch", trace.batch},
                          {"examples", trace.examples},
                          {"layers", ordered_json::array()}};
    for (const LayerTrace& layer : trace.layers) epoch["layers"].push_back(layer_info(layer));
    out["epochs"].push_back(std::move(epoch));
  }
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

report::HeatMap trace_map(const std::string& run, const std::string& value) {
  const View& view = find_view(value);
  report::HeatMap map;
  map.x_title = "epoch";
  const std::vector<arrays::Trace> traces = run_traces(run);
  map.title = core::cat(traces.front().network, ": ", view.title);
  std::map<std::string, size_t> rows;
  for (const size_t tensor : view.tensors) {
    for (size_t epoch = 0; epoch < traces.size(); ++epoch) {
      for (const LayerTrace& layer : traces[epoch].layers) {
        const std::string name = row_name(view, tensor, layer.name);
        const auto [row, is_new] = rows.emplace(name, map.rows.size());
        if (is_new) {
          map.rows.push_back(name);
          map.values.emplace_back(traces.size(), std::numeric_limits<double>::quiet_NaN());
        }
        map.values[row->second][epoch] = shown_value(view, layer, tensor);
      }
    }
  }
  for (const arrays::Trace& trace : traces) {
    map.columns.push_back(static_cast<double>(trace.epoch));
  }
  if (view.bits) {
    set_width_colours(map, run);
  } else {
    map.keys = {{0, "none"}, {0.25, "25 %"}, {0.5, "50 %"}, {0.75, "75 %"}, {1, "all"}};
  }
  return map;
}

}  // namespace adagp::page
