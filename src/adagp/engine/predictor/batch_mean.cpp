#include "adagp/engine/predictor/batch_mean.h"

#include <algorithm>

#include <ATen/Parallel.h>

namespace adagp::predictor {
namespace {

constexpr int64_t kBlock = 2048;  // floats: the accumulators stay in the first-level cache

// ATen's mean over the outermost axis walks memory badly on the CPU; this reads it once, in blocks.
void sum_rows(const float* x, int64_t batch, int64_t count, float scale, float* out) {
  at::parallel_for(0, (count + kBlock - 1) / kBlock, 1, [&](int64_t first, int64_t last) {
    for (int64_t block = first; block < last; ++block) {
      const int64_t begin = block * kBlock;
      const int64_t width = std::min(kBlock, count - begin);
      float* to = out + begin;
      std::fill(to, to + width, 0.0F);
      for (int64_t b = 0; b < batch; ++b) {
        const float* from = x + b * count + begin;
        for (int64_t i = 0; i < width; ++i) to[i] += from[i];
      }
      for (int64_t i = 0; i < width; ++i) to[i] *= scale;
    }
  });
}

}  // namespace

at::Tensor batch_mean(const at::Tensor& x) {
  const bool dense =
      x.is_contiguous() || (x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast));
  if (!x.device().is_cpu() || x.scalar_type() != at::kFloat || !dense || x.size(0) == 0) {
    return x.mean(at::IntArrayRef{0}, false,
                  x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  }
  const at::Tensor first = x.select(0, 0);
  at::Tensor mean = at::empty_strided(first.sizes(), first.strides(), first.options());
  sum_rows(x.const_data_ptr<float>(), x.size(0), first.numel(),
           1.0F / static_cast<float>(x.size(0)), mean.mutable_data_ptr<float>());
  return mean;
}

}  // namespace adagp::predictor
