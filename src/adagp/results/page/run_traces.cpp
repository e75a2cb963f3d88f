#include "adagp/results/page/run_traces.h"

#include <algorithm>
#include <map>

#include "adagp/base/core/files.h"
#include "adagp/base/core/special_files.h"
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

}  // namespace adagp::page
