#pragma once
// The only bridge from networks to layer tables: a shape-only forward pass with a recording tap.

#include <string>
#include <vector>

#include "adagp/layers/table.h"
#include "adagp/models/model.h"

namespace adagp::layers {

struct InputSize {
  int64_t channels = 3, height = 224, width = 224;
};
// "imagenet" (3x224x224), "cifar" (3x32x32) or "HxW". Throws UsageError.
InputSize parse_input(const std::string& text);

// Runs `net` (built in any way) on a meta tensor. Nothing is computed and nothing large allocated.
Table from_model(models::Net& net, const std::string& model_name, const std::string& input_name);

// What a GP step does with one parameter.
struct Coverage {
  std::string name;       // "layer1.0.conv1.weight"
  std::string kind;       // "conv weight" | "linear weight" | "bias" | "norm" | "other"
  std::string treatment;  // "predicted" | "exact" | "frozen"
  int64_t parameters = 0;
};
// Every parameter of the net, each once. `head` is the option of that name: predicted, exact,
// frozen.
std::vector<Coverage> coverage(models::Net& net, const std::string& head);

}  // namespace adagp::layers
