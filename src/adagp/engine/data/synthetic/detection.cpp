#include "adagp/engine/data/synthetic/detection.h"

#include <algorithm>

#include <ATen/Parallel.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/detection.h"
#include "adagp/engine/data/sets/splits.h"
#include "adagp/engine/data/stream/threads.h"

namespace adagp::data {
namespace {

constexpr int64_t kUsualSize = 128;

class DrawnSet : public DetectionSet {
 public:
  DrawnSet(const SyntheticOptions& options, bool test, int64_t count)
      : images_(at::empty({count, options.size, options.size, 3}, at::kByte)),
        objects_(static_cast<size_t>(count)) {
    auto* pixels = images_.mutable_data_ptr<uint8_t>();
    const int64_t bytes = options.size * options.size * 3;
    parallel_over(count, at::get_num_threads(), [&](int64_t i) {
      objects_[static_cast<size_t>(i)] =
          draw_synthetic_detection(options, test, i, pixels + i * bytes);
    });
  }

  int64_t size() const override { return images_.size(0); }
  at::Tensor image(int64_t index) const override { return images_.select(0, index); }
  const std::vector<core::LabelledBox>& objects(int64_t index) const override {
    return objects_.at(static_cast<size_t>(index));
  }
  const at::Tensor& images() const { return images_; }

 private:
  at::Tensor images_;  // u8 [N, size, size, 3]
  std::vector<std::vector<core::LabelledBox>> objects_;
};

}  // namespace

DetectionSplits open_synthetic_detection(const Config& config) {
  const int64_t size = config.image_size > 0 ? config.image_size : kUsualSize;
  if (size < 32) {
    throw UsageError(
        core::cat("data.image_size: ", size, ", expected 32 or more: shapes vanish below"));
  }
  if (config.synthetic_train < 1 || config.synthetic_test < 1) {
    throw UsageError(core::cat("data: synthetic-detection: ", config.synthetic_train,
                               " training and ", config.synthetic_test,
                               " test images, expected at least 1 of each"));
  }
  const SyntheticOptions options{size, static_cast<uint64_t>(config.synthetic_seed),
                                 config.synthetic_noise};
  const auto at_most = [](int64_t count, int64_t limit) {
    return limit > 0 ? std::min(count, limit) : count;
  };
  DetectionSplits splits;
  const auto train =
      std::make_shared<DrawnSet>(options, false, at_most(config.synthetic_train, config.limit));
  splits.train = train;
  splits.test =
      std::make_shared<DrawnSet>(options, true, at_most(config.synthetic_test, config.test_limit));
  splits.classes = synthetic_detection_classes();
  splits.size = size;
  const Normalisation norm = choose_normalisation(config, measure(train->images()));
  splits.mean = norm.mean;
  splits.std = norm.std;
  return splits;
}

}  // namespace adagp::data
