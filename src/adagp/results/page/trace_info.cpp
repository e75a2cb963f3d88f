#include "adagp/results/page/trace_info.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "adagp/base/core/text.h"
#include "adagp/results/page/run_traces.h"

namespace adagp::page {
namespace {

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

}  // namespace

report::Table trace_table(const std::vector<Trace>& traces) {
  report::Table table(report::titled(
      {"epoch", "<layer", "X not zero (%)", "dY not zero (%)", "W not zero (%)", "bits W/A/G"}));
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

}  // namespace adagp::page
