#include "adagp/engine/task/network.h"

#include <ATen/Context.h>

#include "adagp/base/core/log_once.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/run/weights.h"
#include "adagp/engine/task/weights_settings.h"

namespace adagp::task {
namespace {

void load_values(models::Net& net, const config::RunConfig& config, const Task& task) {
  if (const std::string& file = config.model.backbone_weights; !file.empty()) {
    run::load_backbone(net, io::load_tensors(file).tensors, file);
  }
  if (!config.weights.empty()) {
    const io::TensorFile file = io::load_tensors(config.weights);
    task.check(file.metadata, config.weights);
    const auto kept = run::load_all_but_other_heads(net, file.tensors, config.weights);
    if (!kept.empty()) {
      core::warn_once(core::cat(config.weights,
                                ": made for another number of classes: all is loaded but ",
                                core::join(kept, ", "), "; the new head is initialised at random"));
    }
    compare_image_sizes(file.metadata, config.weights, config, task);
  }
}

}  // namespace

std::shared_ptr<models::Net> build_net(const config::RunConfig& config, const Task& task) {
  return build_part(config, task, [](const std::string&) { return true; });
}

std::shared_ptr<models::Net> build_part(const config::RunConfig& config, const Task& task,
                                        const models::Wanted& wanted) {
  at::manual_seed(static_cast<uint64_t>(config.seed));
  auto net = models::build_part(config.model.name, task.model_options(config), wanted);
  load_values(*net, config, task);
  return net;
}

std::shared_ptr<models::Net> build_shapes(const config::RunConfig& config, const Task& task) {
  return models::build_shapes(config.model.name, task.model_options(config));
}

NetMaker throw_away_nets(const config::RunConfig& config, const TaskPtr& task) {
  config::RunConfig fresh = config;
  fresh.weights.clear();
  fresh.model.backbone_weights.clear();
  return [fresh, task] { return build_net(fresh, *task); };
}

}  // namespace adagp::task
