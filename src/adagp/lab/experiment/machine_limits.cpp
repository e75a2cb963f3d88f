#include "adagp/lab/experiment/machine_limits.h"

#include <unistd.h>

#include <algorithm>
#include <functional>

#include <ATen/ATen.h>

#include "adagp/gpu/device/event_timer.h"
#include "adagp/gpu/device/tf32.h"

namespace adagp::experiment {
namespace {

constexpr int kTries = 20;
constexpr int64_t kMebibyte = 1 << 20;

double fastest(const at::Device& device, const std::function<void()>& work) {
  work();  // memory is touched, libraries choose their kernels
  device::EventTimer marks(device);
  marks.add();
  for (int i = 0; i < kTries; ++i) {
    work();
    marks.add();
  }
  const auto seconds = marks.seconds();
  return *std::min_element(seconds.begin(), seconds.end());
}

// Convolutions are the most of a step: the product has their setting.
bool in_tf32(const at::Device& device, at::ScalarType type) {
  return device.is_cuda() && type == at::kFloat && device::convolutions_use_tf32();
}

double product_rate(const at::Device& device, at::ScalarType type) {
  const device::ProductsInTf32 setting(in_tf32(device, type));
  const int64_t n = device.is_cuda() ? 8192 : 1536;
  const auto options = at::TensorOptions(device).dtype(type);
  const at::Tensor a = at::rand({n, n}, options), b = at::rand({n, n}, options);
  at::Tensor c = at::empty({n, n}, options);
  const double seconds = fastest(device, [&] { at::mm_out(c, a, b); });
  const auto side = static_cast<double>(n);
  return 2 * side * side * side / seconds;
}

// Four times the largest cache that the system tells of.
int64_t copy_bytes(const at::Device& device) {
  if (device.is_cuda()) return 1024 * kMebibyte;
  int64_t cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  cache = std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
  return std::clamp<int64_t>(4 * cache, 128 * kMebibyte, 512 * kMebibyte);
}

double copy_rate(const at::Device& device) {
  const int64_t bytes = copy_bytes(device);
  const auto options = at::TensorOptions(device).dtype(at::kFloat);
  const at::Tensor from = at::zeros({bytes / 4}, options);
  at::Tensor to = at::zeros({bytes / 4}, options);
  return 2 * static_cast<double>(bytes) / fastest(device, [&] { to.copy_(from); });
}

}  // namespace

report::MachineLimits machine_limits(const at::Device& device, at::ScalarType type,
                                     report::MachineLimits given) {
  const at::NoGradGuard no_grad;
  report::MachineLimits out = given;
  out.given = given.flops > 0 || given.bytes > 0;
  if (!(out.flops > 0)) {
    out.flops = product_rate(device, type);
    out.product = in_tf32(device, type) ? "tf32" : type == at::kBFloat16 ? "bf16" : "fp32";
  }
  if (!(out.bytes > 0)) out.bytes = copy_rate(device);
  return out;
}

}  // namespace adagp::experiment
