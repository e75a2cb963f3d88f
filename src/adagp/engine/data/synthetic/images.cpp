#include "adagp/engine/data/synthetic/images.h"

#include <algorithm>

#include <ATen/Parallel.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/dataset.h"
#include "adagp/engine/data/sets/splits.h"
#include "adagp/engine/data/stream/threads.h"

namespace adagp::data {
namespace {

// Labels go round by index, so a shorter set is a prefix of a longer one and stays balanced.
std::shared_ptr<const Dataset> generate(const SyntheticOptions& options, bool test, int64_t count,
                                        int64_t limit) {
  if (limit > 0) count = std::min(count, limit);
  const int64_t bytes = options.size * options.size * 3;
  at::Tensor images = at::empty({count, options.size, options.size, 3}, at::kByte);
  auto* pixels = images.mutable_data_ptr<uint8_t>();
  std::vector<int64_t> labels(static_cast<size_t>(count));
  parallel_over(count, at::get_num_threads(), [&](int64_t i) {
    labels[static_cast<size_t>(i)] = draw_synthetic(options, test, i, pixels + i * bytes);
  });
  return std::make_shared<ResidentDataset>(images, std::move(labels));
}

}  // namespace

Splits open_synthetic(const Config& config) {
  if (config.synthetic_size < 8) {
    throw UsageError(core::cat("data.synthetic_size: ", config.synthetic_size,
                               ", expected 8 or more: shapes vanish below"));
  }
  if (config.synthetic_train < 1 || config.synthetic_test < 1) {
    throw UsageError(core::cat("data: synthetic: ", config.synthetic_train, " training and ",
                               config.synthetic_test, " test images, expected at least 1 of each"));
  }
  const SyntheticOptions options{
      config.synthetic_size, static_cast<uint64_t>(config.synthetic_seed), config.synthetic_noise};
  Splits splits;
  splits.train = generate(options, false, config.synthetic_train, config.limit);
  splits.test = generate(options, true, config.synthetic_test, config.test_limit);
  splits.classes = synthetic_classes();
  finish(splits, config);
  return splits;
}

}  // namespace adagp::data
