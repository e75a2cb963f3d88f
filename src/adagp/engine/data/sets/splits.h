#pragma once
// What every data set does after its images are known: limits, normalisation, the network's size.

#include <vector>

#include "adagp/base/config/data_options.h"
#include "adagp/engine/data/sets/dataset.h"

namespace adagp::data {

struct Normalisation {
  std::vector<double> mean, std;  // three numbers each, in 0..1
};

extern const Normalisation kCifarNormalisation;
extern const Normalisation kImagenetNormalisation;

// Mean and standard deviation per channel of u8 [N, H, W, 3], to four digits.
Normalisation measure(const at::Tensor& images);

// An in-memory data set of at most `limit` of these images, u8 [N, H, W, 3].
std::shared_ptr<const Dataset> resident_subset(const at::Tensor& images,
                                               const std::vector<int64_t>& labels, int64_t limit);

// The config's mean and std as three numbers each, `own` where it has none. Throws UsageError for
// numbers that cannot be.
Normalisation choose_normalisation(const Config& config, const Normalisation& own);

// Fills mean and std (the config's, else `known`, else measured, else ImageNet's) and the size.
// Throws UsageError for numbers in the config that cannot be.
void finish(Splits& splits, const Config& config, const Normalisation* known = nullptr);

// The message of a data set that was opened without a path.
[[noreturn]] void throw_no_dir(const std::string& name, const std::string& expected);

}  // namespace adagp::data
