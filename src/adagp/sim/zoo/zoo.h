#pragma once
// Networks and accelerators by name, without LibTorch.

#include <string>
#include <vector>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/layers/table.h"

namespace adagp::zoo {

// Names with a layer table, each once, in alphabetical order.
std::vector<std::string> models();
// Inputs a model has a table for; "cifar100" wherever "cifar" is.
std::vector<std::string> inputs(const std::string& model);

// The table of a network for an input. CIFAR-100 is CIFAR-10 with 100 classes in the classifiers.
// Throws UsageError with the nearest name, or with the inputs there are.
layers::Table layer_table(const std::string& model, const std::string& input);

std::vector<std::string> accelerators();
// A preset's name, or the path of a TOML file when it has a '/' or ends with ".toml".
accel::Accelerator accelerator(const std::string& name_or_path);

}  // namespace adagp::zoo
