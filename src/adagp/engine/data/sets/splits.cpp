#include "adagp/engine/data/sets/splits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/data/sets/select.h"

namespace adagp::data {
namespace {

constexpr int64_t kImagenetSize = 224;

// One number stands for all three channels.
std::vector<double> three_channels(const std::vector<double>& given, const char* key) {
  if (given.size() == 1) return {given[0], given[0], given[0]};
  if (given.size() == 3) return given;
  throw UsageError(core::cat("data.", key, ": ", given.size(),
                             " numbers, expected one or three (red, green, blue)"));
}

}  // namespace

const Normalisation kCifarNormalisation{{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};
const Normalisation kImagenetNormalisation{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

Normalisation measure(const at::Tensor& images) {
  const at::Tensor pixels = images.contiguous();
  const auto* p = pixels.const_data_ptr<uint8_t>();
  std::array<std::array<int64_t, 256>, 3> histogram{};
  const int64_t count = pixels.numel() / 3;
  for (int64_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) ++histogram[c][*p++];
  }
  Normalisation n;
  for (const auto& channel : histogram) {
    double sum = 0, squares = 0;
    for (size_t v = 0; v < channel.size(); ++v) {
      const double value = static_cast<double>(v) / 255.0;
      sum += static_cast<double>(channel[v]) * value;
      squares += static_cast<double>(channel[v]) * value * value;
    }
    const double mean = sum / static_cast<double>(count);
    const double variance = std::max(0.0, squares / static_cast<double>(count) - mean * mean);
    n.mean.push_back(std::round(mean * 1e4) / 1e4);
    // Images of one flat colour: no division by zero.
    n.std.push_back(std::max(std::round(std::sqrt(variance) * 1e4) / 1e4, 0.0039));
  }
  return n;
}

std::shared_ptr<const Dataset> resident_subset(const at::Tensor& images,
                                               const std::vector<int64_t>& labels, int64_t limit) {
  const auto picks = spread_over_classes(labels, limit);
  if (picks.size() == labels.size()) return std::make_shared<ResidentDataset>(images, labels);
  std::vector<int64_t> chosen;
  chosen.reserve(picks.size());
  for (const int64_t i : picks) chosen.push_back(labels[static_cast<size_t>(i)]);
  return std::make_shared<ResidentDataset>(images.index_select(0, at::tensor(picks)), chosen);
}

Normalisation choose_normalisation(const Config& config, const Normalisation& own) {
  Normalisation out;
  out.mean = config.mean.empty() ? own.mean : three_channels(config.mean, "mean");
  out.std = config.std.empty() ? own.std : three_channels(config.std, "std");
  for (const double value : out.std) {
    if (!(value > 0)) throw UsageError(core::cat("data.std: ", value, ", expected more than 0"));
  }
  return out;
}

void finish(Splits& splits, const Config& config, const Normalisation* known) {
  const at::Tensor train = splits.train->resident(), test = splits.test->resident();
  Normalisation own = kImagenetNormalisation;
  if (known != nullptr) {
    own = *known;
  } else if (train.defined() && (config.mean.empty() || config.std.empty())) {
    own = measure(train);
  }
  const Normalisation chosen = choose_normalisation(config, own);
  splits.mean = chosen.mean;
  splits.std = chosen.std;
  if (config.image_size < 0) {
    throw UsageError(core::cat("data.image_size: ", config.image_size, ", expected 0 or more"));
  }
  if (config.image_size > 0) {
    splits.height = splits.width = config.image_size;
  } else if (train.defined() && test.defined() && train.sizes().slice(1) == test.sizes().slice(1)) {
    splits.height = train.size(1);
    splits.width = train.size(2);
  } else {
    splits.height = splits.width = kImagenetSize;
  }
}

void throw_no_dir(const std::string& name, const std::string& expected) {
  throw UsageError("data: " + name + ": no path given; --data-dir takes " + expected +
                   without_files(name));
}

}  // namespace adagp::data
