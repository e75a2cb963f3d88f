#include "adagp/base/core/text.h"
#include "adagp/papers/study/machines.h"
#include "adagp/results/report/chart.h"

namespace adagp::study {
namespace {

report::LineChart lifetime_chart(const MachineResult& result) {
  report::LineChart chart;
  chart.title = core::cat(result.model, ", ", result.input, ", batch ", result.batch,
                          ": lives of activations and gradients");
  chart.x_title = "tensors that live at least so long (%)";
  chart.y_title = "lifetime (us)";
  chart.log_y = true;
  for (const MachineMemory& memory : result.memory) {
    report::LineSeries line;
    line.name = arrays::timeline_name(memory.timeline);
    const auto count = static_cast<double>(memory.lifetimes_us.size());
    for (size_t i = 0; i < memory.lifetimes_us.size(); ++i) {
      if (memory.lifetimes_us[i] <= 0) continue;  // read at once
      line.points.emplace_back(100 * static_cast<double>(i + 1) / count, memory.lifetimes_us[i]);
    }
    chart.series.push_back(std::move(line));
  }
  report::LineSeries retention;
  retention.name = core::cat("retention, ", core::shortest(result.retention_us), " us");
  retention.points = {{0, result.retention_us}, {100, result.retention_us}};
  retention.stroke = report::Stroke::kDashed;
  chart.series.push_back(std::move(retention));
  return chart;
}

report::BarChart speedup_chart(const MachineResult& result) {
  report::BarChart chart;
  chart.title = core::cat(result.machine->name, ": ", result.model, ", ", result.input);
  chart.x_title = "layer";
  chart.y_title = "speed-up over the machine without its trick";
  chart.reference = 1;
  for (size_t pass = 0; pass < kPassNames.size(); ++pass) {
    report::BarSeries series{kPassNames[pass], {}, static_cast<int>(pass)};
    for (const MachineLayer& layer : result.layers) {
      const PassPair& one = layer.passes[pass];
      // No bar where nothing is to do, with the trick or at all.
      series.values.push_back(one.cycles > 0 ? one.speedup() : 0);
    }
    chart.series.push_back(std::move(series));
  }
  for (const MachineLayer& layer : result.layers) chart.categories.push_back(layer.name);
  return chart;
}

}  // namespace

std::string machine_picture(const MachineResult& result) {
  return result.memory.empty() ? report::svg(speedup_chart(result))
                               : report::svg(lifetime_chart(result));
}

}  // namespace adagp::study
