// Rows of the comparison: when a number needs a reason, and how many have one.

#include <algorithm>
#include <cmath>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/measured.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/published.h"
#include "adagp/results/report/stats.h"
#include "adagp/sim/accel/sweep.h"

namespace adagp::study {
namespace {

constexpr double kClose = 0.03;  // no explanation needed

bool apart(const Comparison& comparison) {
  const auto ratio = comparison.ratio();
  return !ratio || std::fabs(*ratio - 1) > kClose;
}

void break_down_layers(const PaperOptions& paper, const char* input, PaperResult& result) {
  if (!known("vgg13_bn", input)) return;
  const Study study = make_study(options_for(paper, "vgg13_bn", input, "ws"));
  const Details details = detail(study, 0);
  const accel::DesignResult& ours = result_of(details, accel::kEfficient);
  const accel::DesignResult& base = details.training.baseline;
  const auto batches =
      static_cast<double>(base.warm_up.batches + base.phase_bp.batches + base.phase_gp.batches);
  for (size_t i = 0; i < details.layers.size(); ++i) {
    const accel::LayerPlan& layer = study.points[0].plan->layers[i];
    if (!layer.product) continue;
    const auto bp = static_cast<double>(layer_total(ours.backprop, i));
    const auto gp = static_cast<double>(layer_total(ours.predict, i));
    result.layers.push_back({input, layer.name,
                             static_cast<double>(layer_total(base.backprop, i)) * batches,
                             bp * static_cast<double>(ours.warm_up.batches),
                             bp * static_cast<double>(ours.phase_bp.batches),
                             gp * static_cast<double>(ours.phase_gp.batches)});
  }
}

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

const Note kNoPower{Reason::kNotModelled,
                    "our RTL has energies of events in 0.35 um, without wires and memories, and no "
                    "watts (docs/hardware.md, Energy)"};
const Note kNoLayout{Reason::kNotModelled,
                     "our RTL has no layout, and so no wires and no buffers between them"};

const std::array<double, 4>* measured(const PublishedResource& resource) {
  for (const MeasuredResource& one : kMeasuredResources) {
    if (one.what == std::string(resource.what)) return &one.values;
  }
  return nullptr;
}

}  // namespace

const char* reason_name(Reason reason) {
  constexpr const char* kNames[] = {"",       "no data",  "needs a run", "not stated",
                                    "unlike", "computed", "not modelled"};
  return kNames[static_cast<size_t>(reason)];
}

void add(PaperResult& result, Comparison comparison, const Note& note) {
  if (apart(comparison)) comparison.note = note;
  result.comparisons.push_back(std::move(comparison));
}

std::optional<double> Comparison::ratio() const {
  if (!published || !ours || *published == 0) return std::nullopt;
  return *ours / *published;
}

PaperCount count(const PaperResult& result) {
  PaperCount out;
  for (const Comparison& one : result.comparisons) {
    if (!one.published || one.again) continue;
    ++out.published;
    if (one.ours) {
      ++out.with_ours;
    } else if (one.note.reason != Reason::kNone) {
      ++out.explained;
    }
  }
  return out;
}

// Fig. 16: VGG13 by layer and phase, design Efficient beside the original.
void compare_layers(const PaperOptions& paper, PaperResult& result) {
  break_down_layers(paper, "cifar", result);
  break_down_layers(paper, "imagenet", result);
  double most = 0, imagenet = 0;
  for (const LayerPhases& layer : result.layers) {
    most = std::max(most, layer.baseline);
    if (layer.input == "imagenet") imagenet += layer.baseline;
  }
  if (most == 0) return;
  add(result,
      {"Fig. 16", "VGG13, ws: largest layer (cycles), paper: end of the axis", kLayerAxis, most},
      {Reason::kUnlike,
       core::cat("the end of an axis, not a value, and the only number of the figure, which does "
                 "not name its data set; all layers of ours on ImageNet together take ",
                 figure_text(imagenet))});
}

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

void compare_resources(PaperResult& result) {
  const Note rtl{Reason::kNotStated,
                 core::cat("counts of Yosys for our RTL in fixed point, ", kRtlPage,
                           ": cell library, number format and sizes of the memories of the "
                           "published circuits are not stated, so only increments compare "
                           "(docs/hardware.md)")};
  for (const PublishedResource& resource : kResources) {
    const auto* ours = measured(resource);
    const bool power = std::string_view(resource.what).starts_with("power");
    for (size_t i = 0; i < kResourceDesigns.size(); ++i) {
      Comparison row{resource.place,
                     core::cat(resource.what, ", ", kResourceDesigns[i]),
                     resource.values[i],
                     {}};
      if (ours != nullptr) row.ours = (*ours)[i];
      add(result, std::move(row), ours != nullptr ? rtl : power ? kNoPower : kNoLayout);
    }
  }
  for (size_t i = 0; i < kPowerIncrease.size(); ++i) {
    const std::string over = core::cat(" over the baseline, ", kResourceDesigns[i + 1], " (%)");
    add(result, {"text", "FPGA power" + over, kPowerIncrease[i], {}}, kNoPower);
    add(result, {"text", "ASIC area" + over, kAreaIncrease[i], {}}, kNoLayout);
  }
}

}  // namespace adagp::study
