#include "adagp/papers/study/pipeline_costs.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/foreign_json.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/accel/cost.h"
#include "adagp/sim/accel/design/parts.h"
#include "adagp/sim/accel/rtl_machine.h"
#include "adagp/sim/pipeline/partition.h"

namespace adagp::study {
namespace {

constexpr double kFloatBytes = 4;

double cycles(const accel::PassCost& cost) {
  return static_cast<double>(cost.total());
}

// What a design's predictor adds to each layer of a batch of that phase.
std::vector<double> predictor_times(const accel::Design& design,
                                    std::span<const accel::LayerCost> layers, schedule::Phase phase,
                                    const accel::Accelerator& accelerator) {
  accel::BatchCost with, alone;
  design.batch(layers, phase, accelerator, with);
  accel::layers_alone(layers, phase, alone);
  std::vector<double> out;
  for (size_t i = 0; i < layers.size(); ++i) {
    out.push_back(static_cast<double>(with.forward[i].total() + with.backward[i].total() -
                                      alone.forward[i].total() - alone.backward[i].total()));
  }
  return out;
}

PipelineItem item_of(const accel::LayerPlan& plan, const accel::LayerCost& cost,
                     const layers::Row& row, int64_t examples, int64_t summary_side) {
  PipelineItem item{plan.name, {}, 0};
  pipeline::StageCost& stage = item.cost;
  stage.forward = cycles(cost.forward);
  stage.input_gradient = cycles(cost.input_gradient) + cycles(cost.vector_backward);
  stage.weight_gradient = plan.weighted ? cycles(cost.weight_gradient) : 0;
  // Both gradients of an attention product go on to earlier layers.
  if (!plan.weighted) stage.input_gradient += cycles(cost.weight_gradient);
  stage.backward = stage.input_gradient + stage.weight_gradient;
  stage.predict_update = cycles(cost.update_predict);
  stage.optimizer = cycles(cost.update_backprop);
  stage.output_bytes = static_cast<double>(row.output_bytes) * static_cast<double>(examples);
  stage.weight_bytes = kFloatBytes * static_cast<double>(plan.update_backprop);
  if (plan.weighted) {
    stage.summary_bytes =
        kFloatBytes * static_cast<double>(row.output[0] * summary_side * summary_side);
  }
  item.kept_bytes = plan.frozen ? 0 : kFloatBytes * static_cast<double>(plan.kept_words);
  return item;
}

struct CostField {
  const char* name;
  double pipeline::StageCost::*field;
};
constexpr CostField kCostFields[] = {{"forward", &pipeline::StageCost::forward},
                                     {"backward", &pipeline::StageCost::backward},
                                     {"input_gradient", &pipeline::StageCost::input_gradient},
                                     {"weight_gradient", &pipeline::StageCost::weight_gradient},
                                     {"summary", &pipeline::StageCost::summary},
                                     {"predict_update", &pipeline::StageCost::predict_update},
                                     {"optimizer", &pipeline::StageCost::optimizer},
                                     {"predictor_step", &pipeline::StageCost::predictor_step},
                                     {"output_bytes", &pipeline::StageCost::output_bytes},
                                     {"weight_bytes", &pipeline::StageCost::weight_bytes},
                                     {"summary_bytes", &pipeline::StageCost::summary_bytes}};

std::vector<std::string> cost_names() {
  std::vector<std::string> names{"name", "kept_bytes"};
  for (const CostField& field : kCostFields) names.emplace_back(field.name);
  return names;
}

using Values = std::vector<std::pair<std::string, std::string>>;  // of an item, as text

PipelineItem item_from(const Values& values, const std::string& where) {
  PipelineItem item{"", {}, 0};
  item.cost.forward = item.cost.backward = -1;
  bool split = false;
  for (const auto& value_of : values) {
    const std::string &name = value_of.first, &text = value_of.second;
    if (name == "name") {
      item.name = text;
      continue;
    }
    double value = 0;
    if (!core::parse_number(text, value) || !is_pipeline_cost(value)) {
      throw DataError(
          core::cat(where, ": ", name, " is '", text, "', expected ", pipeline_cost_text()));
    }
    const auto* field = std::find_if(std::begin(kCostFields), std::end(kCostFields),
                                     [&](const CostField& f) { return name == f.name; });
    if (field != std::end(kCostFields)) {
      item.cost.*(field->field) = value;
    } else if (name == "kept_bytes") {
      item.kept_bytes = value;
    } else {
      throw DataError(
          core::cat(where, ": unknown '", name, "'", core::suggestion(name, cost_names())));
    }
    split = split || name == "input_gradient" || name == "weight_gradient";
  }
  if (item.cost.forward < 0 || item.cost.backward < 0) {
    throw DataError(where + ": expected at least forward and backward");
  }
  if (!split) item.cost.input_gradient = item.cost.weight_gradient = item.cost.backward / 2;
  return item;
}

std::vector<PipelineItem> items_from_json(const std::string& text, const std::string& file) {
  const auto json = core::try_parse_json(text).value_or(nlohmann::json());
  if (!json.is_array()) throw DataError(file + ": expected a JSON array of objects, one per layer");
  std::vector<PipelineItem> items;
  for (const auto& one : json) {
    const std::string where = core::cat(file, ", item ", items.size());
    if (!one.is_object()) throw DataError(where + ": expected an object");
    Values values;
    for (const auto& [key, value] : one.items()) {
      values.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
    items.push_back(item_from(values, where));
  }
  return items;
}

std::vector<PipelineItem> items_from_csv(const std::string& text, const std::string& file) {
  std::vector<PipelineItem> items;
  std::vector<std::string> titles;
  size_t number = 0;
  for (const std::string& line : core::split(text, '\n')) {
    ++number;
    if (core::trim(line).empty()) continue;
    const auto cells = core::split(core::trim(line), ',');
    const std::string where = core::cat(file, ", line ", number);
    if (titles.empty()) {
      for (const auto& cell : cells) titles.push_back(core::lower(core::trim(cell)));
      continue;
    }
    if (cells.size() != titles.size()) {
      throw DataError(
          core::cat(where, ": ", cells.size(), " cells, expected ", titles.size(), " as titles"));
    }
    Values values;
    for (size_t i = 0; i < cells.size(); ++i) values.emplace_back(titles[i], core::trim(cells[i]));
    items.push_back(item_from(values, where));
  }
  return items;
}

}  // namespace

bool is_pipeline_cost(double value) {
  return value == 0 || (value >= kLeastPipelineCost && value <= kMostPipelineCost);
}

std::string pipeline_cost_text() {
  return core::cat("0 or a number from ", kLeastPipelineCost, " to ", kMostPipelineCost);
}

std::vector<PipelineItem> accelerator_items(const Options& options, const std::string& design_name,
                                            int micro_batches) {
  const accel::Design& design = accel::find_design(design_name);
  if (!design.predicts) {
    throw UsageError("pipeline: --design '" + design_name +
                     "' predicts nothing; expected low, efficient or max");
  }
  Options one = options;
  one.designs = "baseline";
  if (!one.examples) one.examples = 1;  // of a run, which nobody asks for here
  const int64_t batch = make_study(one).cases[0].batch;
  if (batch % micro_batches != 0) {
    throw UsageError(
        core::cat("pipeline: ", micro_batches, " micro-batches do not divide a batch of ", batch));
  }
  one.batches = std::to_string(batch / micro_batches);
  const Study study = make_study(one);
  if (study.cases.size() != 1) {
    throw UsageError(core::cat("pipeline: costs of one network on one accelerator, got ",
                               study.cases.size(), " combinations"));
  }
  const accel::Point& point = study.points[0];
  accel::refuse_rtl(point.accelerator, "the stages of a pipeline");
  std::vector<accel::LayerCost> costs;
  accel::evaluate(*point.plan, point.accelerator, *point.dataflow, accel::Scope::kTraining, costs);
  const auto times = [&](schedule::Phase phase) {
    return predictor_times(design, costs, phase, point.accelerator);
  };
  const auto predict = times(schedule::Phase::kPredict), learn = times(schedule::Phase::kBackprop);
  std::vector<PipelineItem> items;
  for (size_t i = 0; i < costs.size(); ++i) {
    items.push_back(item_of(point.plan->layers[i], costs[i], study.tables[0].rows.at(i),
                            study.cases[0].batch, study.cases[0].predictor.summary));
    items.back().cost.predict_update += predict[i];
    items.back().cost.predictor_step = learn[i];
  }
  return items;
}

std::vector<PipelineItem> read_items(const std::string& file) {
  return parse_items(core::read_file(file), file);
}

std::vector<PipelineItem> parse_items(const std::string& bytes, const std::string& file) {
  const std::string text(core::without_byte_order_mark(bytes));
  const std::string start = core::trim(text).substr(0, 1);
  auto items =
      start == "[" || start == "{" ? items_from_json(text, file) : items_from_csv(text, file);
  if (items.empty()) throw DataError(file + ": no costs in it, expected a line per layer");
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name.empty()) items[i].name = core::cat("item ", i);
  }
  return items;
}

PipelineCosts cut(const std::vector<PipelineItem>& items, const pipeline::Placement& placement,
                  double limit, bool with_low) {
  int stash = 0;
  const pipeline::Schedule& schedule = pipeline::schedule_of(placement);
  for (int d = 0; d < placement.devices; ++d) {
    stash = std::max(stash, schedule.stash_bound(placement, d));
  }
  double kept = stash;  // micro-batches
  if (with_low && schedule.pair) kept += placement.low_share * placement.micro_batches;
  std::vector<pipeline::Item> parts;
  for (const PipelineItem& item : items) {
    parts.push_back({item.name, item.cost.forward + item.cost.backward,
                     2 * item.cost.weight_bytes + kept * item.kept_bytes});
  }
  const pipeline::Partition partition = pipeline::partition(parts, placement.stages, limit);
  PipelineCosts out;
  for (size_t s = 0; s < partition.first.size(); ++s) {
    const size_t begin = partition.first[s];
    const size_t end = s + 1 < partition.first.size() ? partition.first[s + 1] : items.size();
    pipeline::StageCost sum{0, 0, 0, 0};
    for (size_t i = begin; i < end; ++i) {
      for (const CostField& field : kCostFields) sum.*(field.field) += items[i].cost.*(field.field);
    }
    sum.output_bytes = items[end - 1].cost.output_bytes;
    out.costs.stages.push_back(sum);
    out.stages.push_back({items[begin].name, items[end - 1].name, end - begin});
  }
  return out;
}

}  // namespace adagp::study
