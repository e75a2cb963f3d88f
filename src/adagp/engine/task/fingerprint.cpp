#include "adagp/engine/task/fingerprint.h"

#include <algorithm>
#include <cstdio>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/io/crc32c.h"

namespace adagp::task {
namespace {

constexpr int64_t kBatches = 4, kExamples = 16;  // of each split

uint32_t add_tensor(const at::Tensor& tensor, uint32_t sum) {
  // Processors may differ in the last bit of a normalised pixel.
  const at::Tensor whole =
      tensor.is_floating_point() ? (tensor.to(at::kFloat) * 32).round() : tensor;
  const at::Tensor values = whole.to(at::kLong).contiguous();
  return io::crc32c(values.const_data_ptr(), values.nbytes(), sum);
}

uint32_t add_split(const Task& task, const config::RunConfig& config, Use use, uint32_t sum) {
  const auto source = task.batches(config, use, at::kCPU);
  const int64_t batches = source->batches_per_epoch();
  const int64_t taken = std::min(kBatches, batches);
  for (int64_t i = 0; i < taken; ++i) {
    source->seek(0, i * batches / taken);
    const data::Batch batch = source->next();
    for (const at::Tensor& tensor : batch.inputs) sum = add_tensor(tensor, sum);
    for (const at::Tensor& tensor : batch.targets) sum = add_tensor(tensor, sum);
  }
  return sum;
}

}  // namespace

std::string fingerprint(const Task& task, const config::RunConfig& config) {
  config::RunConfig small = config;
  small.batch = std::min(kExamples, config.batch);
  small.eval_batch = std::min(kExamples, config.eval_batch);
  try {
    uint32_t sum = add_split(task, small, Use::kTrainInOrder, 0);
    sum = add_split(task, small, Use::kTest, sum);
    char text[16];
    std::snprintf(text, sizeof text, "%08x", sum);
    return core::cat(task.train_size(), "+", task.test_size(), " ", task.unit(), ", ", text);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace adagp::task
