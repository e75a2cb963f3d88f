#include "adagp/base/core/text.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/published.h"
#include "adagp/results/report/stats.h"
#include "adagp/sim/accel/equal_budget.h"
#include "adagp/sim/accel/sweep.h"

namespace adagp::study {
namespace {

// How much faster the baseline is on the best array with that many PEs more, by network.
std::vector<double> larger_baseline(const PaperOptions& paper, double extra_pes,
                                    const std::vector<const NetworkResult*>& networks) {
  std::vector<double> faster(networks.size());
  accel::for_each(networks.size(), paper.threads, [&](size_t i) {
    const NetworkResult& one = *networks[i];
    const Study study = make_study(options_for(paper, one.network, one.input, one.dataflow));
    const accel::Point& point = study.points[0];
    const int64_t pes = accel::pes_with(point.accelerator.array, extra_pes);
    const auto best = accel::best_array(*point.plan, point.accelerator, *point.dataflow, pes);
    faster[i] = static_cast<double>(one.baseline_batch) / static_cast<double>(best.cycles);
  });
  return faster;
}

}  // namespace

// The published sentence does not say whose speed-up it gives: that of MAX over the larger
// baseline, or that of this baseline over the small one.
void compare_equal_budget(const PaperOptions& paper, PaperResult& result) {
  for (const EqualBudget& budget : kEqualBudgets) {
    for (size_t i = 0; i < kPaperInputs.size(); ++i) {
      const auto networks = chosen(result.networks, "ws", kPaperInputs[i]);
      if (networks.empty()) continue;
      const std::vector<double> faster = larger_baseline(paper, budget.extra_pes, networks);
      std::vector<double> gains;
      for (size_t n = 0; n < networks.size(); ++n) gains.push_back(networks[n]->max / faster[n]);
      const double factor = 1 + budget.extra_pes / 100;
      const double ideal = mean(networks, &NetworkResult::max) / factor;
      const std::string where = core::cat(budget.name, ", ", kPaperInputNames[i], ", ",
                                          budget.extra_pes, " % more PEs: ");
      add(result,
          {"text", where + "MAX over this baseline (%)", budget.gain[i],
           100 * (report::mean(gains) - 1)},
          {Reason::kComputed,
           core::cat("with all PEs used ", core::fixed(100 * (ideal - 1), 1),
                     " %; the published speed-up ", core::fixed(kSpeedups[0].mean[i], 2), " over ",
                     core::fixed(factor, 2), " leaves ",
                     core::fixed(100 * (kSpeedups[0].mean[i] / factor - 1), 1),
                     " %: read so, the sentence contradicts Fig. 17")});
      add(result,
          {"text",
           where + "this baseline over 180 PEs (%)",
           budget.gain[i],
           100 * (report::mean(faster) - 1),
           {},
           true},
          {Reason::kComputed,
           core::cat("on the array of so many PEs that suits each network best; with all PEs used ",
                     budget.extra_pes,
                     " %: read so, the larger baseline uses about half of "
                     "its new PEs")});
    }
  }
}

}  // namespace adagp::study
