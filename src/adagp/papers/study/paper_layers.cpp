// Fig. 16: VGG13 by layer and phase, design Efficient beside the original.

#include <algorithm>

#include "adagp/base/core/text.h"
#include "adagp/papers/study/paper_parts.h"
#include "adagp/papers/study/published.h"

namespace adagp::study {
namespace {

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

}  // namespace

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

}  // namespace adagp::study
