#include "adagp/papers/study/term_project.h"

#include <cmath>
#include <limits>

#include "adagp/base/core/text.h"

namespace adagp::study {

TermRow term_row(const TermRuns& runs) {
  return {runs, report::compare(runs.runs), report::mean(runs.bp_epochs),
          report::mean(runs.gp_epochs)};
}

double term_slowdown(const TermProjectBatch& published) {
  constexpr int kEpochs = kTermProjectBpEpochs + kTermProjectGpEpochs;
  return published.total / (kEpochs * published.gp_epoch);
}

double term_batch_correlation() {
  std::vector<double> x, y;
  for (const TermProjectBatch& row : kTermProjectBatches) {
    x.push_back(row.batch);
    y.push_back(row.adagp);
  }
  const double mx = report::mean(x), my = report::mean(y);
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xy / std::sqrt(xx * yy);
}

double term_formula(double epoch, double bp_epoch, double gp_epoch, int64_t bp_epochs,
                    int64_t gp_epochs) {
  const auto bp = static_cast<double>(bp_epochs), gp = static_cast<double>(gp_epochs);
  // Epochs that there are none of take no time, whatever their mean.
  const double spent = (bp > 0 ? bp_epoch * bp : 0) + (gp > 0 ? gp_epoch * gp : 0);
  return epoch * (bp + gp) / spent;
}

}  // namespace adagp::study
