#pragma once
// Inputs of the norm kernels, on the host for the reference and on the device for the kernel.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "adagp/gpu/cuda/norm/norm.h"
#include "gpu/kernels/device_array.h"

namespace adagp::test {

// The same bytes twice: the reference works on one copy, the kernel on the other.
template <typename T>
struct Both {
  explicit Both(std::vector<T> values) : host(std::move(values)), device(host) {}
  explicit Both(size_t count) : Both(std::vector<T>(count)) {}
  std::vector<T> host;
  Device<T> device;
  T* at(bool kernel) { return kernel ? device.get() : host.data(); }
};
using Floats = Both<float>;
using Bytes = Both<uint8_t>;  // an activation

inline std::string describe(const cuda::Map& map, cuda::Type type) {
  return std::to_string(map.batch) + " x " + std::to_string(map.height) + " x " +
         std::to_string(map.width) + " x " + std::to_string(map.channels) +
         (type == cuda::Type::kFloat ? " float" : " bf16");
}

inline size_t elements(const cuda::Map& map) {
  return static_cast<size_t>(map.count());
}

// Channels differ in mean, so that a mixed-up channel is seen.
inline std::vector<float> activation(const cuda::Map& map, unsigned seed) {
  std::vector<float> out = normal(elements(map), seed, 0.5F, 2.0F);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] += 0.3F * static_cast<float>((i % static_cast<size_t>(map.channels)) % 7);
  }
  return out;
}

inline std::vector<float> positive(size_t count, unsigned seed) {
  std::vector<float> out = normal(count, seed, 0, 0.3F);
  for (float& value : out) value = 0.5F + std::fabs(value);
  return out;
}

// Everything norm_stats reads and writes.
struct StatsCase {
  StatsCase(const cuda::Map& shape, cuda::Type of, int side = 8)
      : map(shape),
        type(of),
        size(side),
        channels(static_cast<size_t>(shape.channels)),
        x(packed(activation(shape, 1), of)),
        weight(positive(channels, 2)),
        bias(normal(channels, 3)),
        conv_bias(normal(channels, 4, 0.5F)),
        running_mean(normal(channels, 5, 1.5F)),
        running_var(positive(channels, 6)),
        batches(std::vector<int64_t>{41}),
        mean(channels),
        inv_std(channels),
        scale(channels),
        shift(channels),
        summary(channels * static_cast<size_t>(side) * static_cast<size_t>(side)) {}

  cuda::StatsArgs args(bool kernel, bool norm, bool with_summary) {
    cuda::StatsArgs a;
    a.x = x.at(kernel), a.type = type, a.map = map, a.size = size;
    a.conv_bias = conv_bias.at(kernel);
    if (norm) {
      a.weight = weight.at(kernel), a.bias = bias.at(kernel);
      a.running_mean = running_mean.at(kernel), a.running_var = running_var.at(kernel);
      a.batches = batches.at(kernel);
      a.mean = mean.at(kernel), a.inv_std = inv_std.at(kernel);
      a.scale = scale.at(kernel), a.shift = shift.at(kernel);
    }
    if (with_summary) a.summary = summary.at(kernel);
    return a;
  }

  cuda::Map map;
  cuda::Type type;
  int size;
  size_t channels;
  Bytes x;
  Floats weight, bias, conv_bias, running_mean, running_var;
  Both<int64_t> batches;
  Floats mean, inv_std, scale, shift, summary;
};

// Scratch with a guard behind it.
class Workspace {
 public:
  explicit Workspace(int64_t bytes) : bytes_(static_cast<size_t>(bytes)), memory_(filled(bytes_)) {}
  void* get() const { return memory_.get(); }
  void expect_guard_whole() const {
    const std::vector<uint8_t> after = memory_.host();
    for (size_t i = bytes_; i < after.size(); ++i) {
      ASSERT_EQ(after[i], kGuard) << "written " << i - bytes_ << " bytes behind the workspace";
    }
  }

 private:
  static constexpr uint8_t kGuard = 0xA5;
  static std::vector<uint8_t> filled(size_t bytes) {
    std::vector<uint8_t> out(bytes + 4096, kGuard);
    std::fill(out.begin(), out.begin() + static_cast<int64_t>(bytes), uint8_t{0});
    return out;
  }
  size_t bytes_;
  Device<uint8_t> memory_;
};

}  // namespace adagp::test
