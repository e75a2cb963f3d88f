#include "adagp/results/report/progress.h"

#include <cmath>
#include <limits>

#include "adagp/base/core/text.h"
#include "adagp/results/report/metric.h"

namespace adagp::report {
namespace {

// "top-1 41.20": the first figure of the last evaluation that is no loss.
std::string last_score(const RunFiles& run) {
  if (run.metrics.epochs.empty()) return "-";
  for (const auto& [name, value] : run.metrics.epochs.back().figures) {
    if (!name.starts_with("test_") || name == "test_loss") continue;
    return core::cat(metric_named(name.substr(5)).label, " ", core::fixed(value, 2));
  }
  return "-";
}

std::string time_text(double seconds) {
  return std::isfinite(seconds) && seconds >= 0 ? core::human_seconds(seconds) : "-";
}

}  // namespace

double seconds_left(const RunFiles& run) {
  const auto& epochs = run.metrics.epochs;
  if (epochs.empty() || run.epochs() < 1) return std::numeric_limits<double>::quiet_NaN();
  const auto done = static_cast<double>(epochs.back().epoch + 1);
  const double left = static_cast<double>(run.epochs()) - done;
  return done > 0 ? std::max(0.0, epochs.back().seconds / done * left)
                  : std::numeric_limits<double>::quiet_NaN();
}

Table progress_table(const std::vector<RunFiles>& runs) {
  Table table(titled({"<run", "<method", "epoch", "of", "batches", "loss", "score", "training",
                      "left", "last record"}));
  for (const RunFiles& run : runs) {
    if (run.finished()) continue;
    const auto& epochs = run.metrics.epochs;
    table.add_row({run.folder.string(), run.method(),
                   core::cat(epochs.empty() ? 0 : epochs.back().epoch + 1), core::cat(run.epochs()),
                   core::cat(run.metrics.last_step), number_or_dash(run.metrics.last_loss, 4),
                   last_score(run), time_text(epochs.empty() ? NAN : epochs.back().seconds),
                   time_text(seconds_left(run)),
                   std::isfinite(run.age) ? time_text(std::max(0.0, run.age)) + " ago" : "-"});
  }
  return table;
}

}  // namespace adagp::report
