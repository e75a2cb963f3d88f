#include "adagp/lab/experiment/index_lists.h"

#include <cmath>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/text.h"
#include "adagp/lab/experiment/idle_trainer.h"

namespace adagp::experiment {
namespace {

at::Tensor read_losses(const std::string& file, int64_t examples) {
  std::vector<float> losses;
  for (const std::string& line : core::split(core::read_file(file), '\n')) {
    if (core::trim(line).empty()) continue;
    double value = 0;
    if (!core::parse_number(core::trim(line), value) || !std::isfinite(value)) {
      throw DataError(core::cat(file, ": '", line, "', expected a number a line"));
    }
    losses.push_back(static_cast<float>(value));
  }
  if (static_cast<int64_t>(losses.size()) != examples) {
    throw DataError(core::cat(file, ": ", losses.size(), " losses, and there are ", examples,
                              " training examples"));
  }
  return at::tensor(losses);
}

}  // namespace

void print_index_lists(config::RunConfig config, const std::string& losses_file,
                       const std::function<void(const std::string&)>& print) {
  const auto trainer = idle_trainer(config);
  train::EpochPlanner& planner = trainer->planner();
  at::Tensor& stored = trainer->session().stored_losses;
  if (!losses_file.empty()) {
    if (!stored.defined()) throw UsageError("--losses: method " + config.method + " reads none");
    stored.copy_(read_losses(losses_file, stored.numel()));
  }
  for (int64_t epoch = 0; epoch < config.epochs; ++epoch) {
    const auto plan = planner.epoch_plan(epoch);
    for (size_t i = 0; i < plan->batches.size(); ++i) {
      const auto position = static_cast<int64_t>(i);
      const plan::BatchShape shape =
          trainer->method().batch_plan().at(planner.context(epoch, position));
      const auto begin = plan->order.begin() + plan->batches[i].begin;
      print(
          nlohmann::json{{"epoch", epoch},
                         {"batch", position},
                         {"side", shape.image_side},
                         {"rate", shape.rate},
                         {"progress", planner.progress(epoch, position)},
                         {"examples", std::vector<int64_t>(begin, begin + plan->batches[i].count)}}
              .dump() +
          "\n");
    }
  }
}

}  // namespace adagp::experiment
