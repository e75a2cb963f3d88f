#include "adagp/results/page/trace_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/lookup.h"
#include "adagp/base/core/text.h"
#include "adagp/results/page/run_traces.h"

namespace adagp::page {
namespace {

using arrays::LayerTrace;

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
