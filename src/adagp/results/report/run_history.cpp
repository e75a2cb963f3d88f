#include "adagp/results/report/run_history.h"

#include <cmath>
#include <limits>

#include "adagp/base/core/error.h"
#include "adagp/base/core/special_files.h"
#include "adagp/results/report/run_files.h"

namespace adagp::report {
namespace {

std::vector<LayerProbe> layers_of(const ProbeRecord& record) {
  std::vector<LayerProbe> out;
  for (size_t l = 0; l < record.layers.size(); ++l) {
    out.push_back({record.at(l, Probe::kCosine), record.at(l, Probe::kMse),
                   record.at(l, Probe::kMape), record.at(l, Probe::kRelativeError)});
  }
  return out;
}

double figure(const EpochRecord& record, const char* name) {
  const auto found = record.figures.find(name);
  return found == record.figures.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

}  // namespace

std::vector<EpochHistory> read_history(const core::fs::path& metrics) {
  const Metrics found = parse_metrics(core::read_regular_file(metrics), metrics.string(),
                                      std::numeric_limits<size_t>::max());
  if (!found.notes.empty()) throw DataError(found.notes.front());
  std::vector<EpochHistory> out;
  double seconds_before = 0;
  size_t next = 0;
  for (const EpochRecord& record : found.epochs) {
    EpochHistory now;
    now.epoch = record.epoch;
    now.train_loss = figure(record, "train_loss");
    now.test_loss = figure(record, "test_loss");
    now.seconds = record.seconds - seconds_before;
    seconds_before = record.seconds;
    for (; next < found.probes.size() && found.probes[next].step <= record.step; ++next) {
      now.layers = layers_of(found.probes[next]);
      const double loss = found.probes[next].predictor_loss;
      if (std::isfinite(loss)) now.predictor_loss = loss;
    }
    out.push_back(std::move(now));
  }
  return out;
}

}  // namespace adagp::report
