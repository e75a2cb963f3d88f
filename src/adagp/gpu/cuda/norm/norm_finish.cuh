#pragma once
// The last step of a norm's statistics, the same whether they were taken just now or before.

#include "adagp/gpu/cuda/norm/norm.h"

namespace adagp::cuda::norm {

// variance: biased. unbiased: n / (n - 1) for n values.
__device__ inline void finish_norm_channel(const NormPart& a, int channel, float mean,
                                           double variance, double unbiased) {
  const float inv_std = 1.0F / sqrtf(static_cast<float>(variance) + a.eps);
  const float scale = a.weight[channel] * inv_std;
  a.mean[channel] = mean;
  a.inv_std[channel] = inv_std;
  a.scale[channel] = scale;
  a.shift[channel] = fmaf(-mean, scale, a.bias ? a.bias[channel] : 0.0F);
  if (a.running_mean != nullptr) {
    const float whole = mean + (a.conv_bias ? a.conv_bias[channel] : 0.0F);
    const auto of_all = static_cast<float>(variance * unbiased);
    a.running_mean[channel] = (1 - a.momentum) * a.running_mean[channel] + a.momentum * whole;
    a.running_var[channel] = (1 - a.momentum) * a.running_var[channel] + a.momentum * of_all;
  }
}

}  // namespace adagp::cuda::norm
