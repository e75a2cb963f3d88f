#include "adagp/lab/experiment/layer_layouts.h"

#include "adagp/base/core/text.h"
#include "adagp/engine/task/network.h"
#include "adagp/engine/train/layout_choice.h"
#include "adagp/results/report/table.h"

namespace adagp::experiment {

std::vector<LayerLayouts> layer_layouts(const config::RunConfig& config,
                                        const task::TaskPtr& task) {
  std::vector<LayerLayouts> out;
  if (!train::chooses_layouts(config) || config.cpu.convolution != "measured") return out;
  const auto net = task::throw_away_nets(config, task)();
  const int64_t examples = train::examples_at_once(config);
  const run::LayoutRecord record = train::measured_layouts(*net, config, *task, {{0, examples}});
  for (const auto& [layer, shape] : train::convolutions_of(*net, config, *task)) {
    if (const auto* found = record.find(examples, shape)) {
      out.push_back({layer, shape, found->choices});
    }
  }
  return out;
}

std::string layouts_text(const std::vector<LayerLayouts>& layers) {
  if (layers.empty()) return "";
  std::vector<report::Column> columns{{"layer", report::Align::kLeft},
                                      {"convolution", report::Align::kLeft},
                                      {"product", report::Align::kLeft}};
  for (const nn::Layout layout : nn::kLayouts) columns.push_back({nn::name_of(layout) + " ms"});
  columns.push_back({"chosen", report::Align::kLeft});
  report::Table table(columns);
  double usual = 0, chosen = 0;
  for (const LayerLayouts& one : layers) {
    for (const nn::Product product : nn::kProducts) {
      const nn::LayoutChoice& choice = one.choices[nn::index_of(product)];
      std::vector<std::string> cells{one.layer, nn::describe(one.shape), nn::name_of(product)};
      for (const double ms : choice.ms) cells.push_back(core::fixed(ms, 2));
      cells.push_back(nn::name_of(choice.chosen));
      table.add_row(cells);
      usual += choice.ms[nn::index_of(nn::Layout::kChannelsLast)];
      chosen += choice.ms[nn::index_of(choice.chosen)];
    }
  }
  return core::cat(table.console(), "\nall products: ", core::fixed(usual, 1),
                   " ms channels-last, ", core::fixed(chosen, 1),
                   " ms as chosen (the fastest of several tries each, with the copies that a "
                   "layout needs)");
}

nlohmann::json layouts_json(const std::vector<LayerLayouts>& layers) {
  nlohmann::json out = nlohmann::json::array();
  for (const LayerLayouts& one : layers) {
    for (const nn::Product product : nn::kProducts) {
      const nn::LayoutChoice& choice = one.choices[nn::index_of(product)];
      nlohmann::json row{{"layer", one.layer},
                         {"convolution", nn::describe(one.shape)},
                         {"product", nn::name_of(product)},
                         {"chosen", nn::name_of(choice.chosen)}};
      for (const nn::Layout layout : nn::kLayouts) {
        row["ms"][nn::name_of(layout)] = choice.ms[nn::index_of(layout)];
      }
      out.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace adagp::experiment
