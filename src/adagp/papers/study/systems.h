#pragma once
// The field's other training accelerators in one table (`adagp paper --systems`): each alone,
// ADA-GP on top, and the published figures beside them.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/papers/study/machines.h"

namespace adagp::study {

struct SystemsOptions {
  std::string models = "vgg13_bn,vgg13,resnet50";
  std::string input = "imagenet";
  int64_t batch = 128;
  int64_t epochs = 90;
  bool vector_passes = false;
};

struct SystemRow {
  MachineResult result;
  std::string setting;    // operands, in words
  std::string published;  // as printed there; "" where nothing comparable was found
};

std::vector<SystemRow> compare_systems(const SystemsOptions& options);
std::string systems_text(const std::vector<SystemRow>& rows);
std::string systems_json(const std::vector<SystemRow>& rows);

}  // namespace adagp::study
