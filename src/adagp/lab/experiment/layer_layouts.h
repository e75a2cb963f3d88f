#pragma once
// Which layout cpu.convolution = measured has chosen for each convolution of a network, for bench.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "adagp/base/config/run_config.h"
#include "adagp/engine/nn/layouts.h"
#include "adagp/engine/task/task.h"

namespace adagp::experiment {

struct LayerLayouts {
  std::string layer;
  nn::ConvolutionShape shape;
  nn::LayoutChoices choices;
};

// From this machine's cache, or measured now. Empty where nothing is measured: another value of the
// key, a GPU, a network without convolutions. `config` is resolved.
std::vector<LayerLayouts> layer_layouts(const config::RunConfig& config, const task::TaskPtr& task);

// A table of layers and products with the ms of each layout, and the sums; empty without layers.
std::string layouts_text(const std::vector<LayerLayouts>& layers);
nlohmann::json layouts_json(const std::vector<LayerLayouts>& layers);

}  // namespace adagp::experiment
