#pragma once
// What the kernel tests share: arrays on the device, bf16 on the host, comparison.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "adagp/gpu/cuda/types.h"

namespace adagp::test {

inline void must(cudaError_t result) {
  ASSERT_EQ(result, cudaSuccess) << cudaGetErrorString(result);
}

// Skips where there is no GPU that can run our kernels.
class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = cuda::unusable(0);
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

// A host vector's copy on the device.
template <typename T>
class Device {
 public:
  explicit Device(const std::vector<T>& host) : count_(host.size()) {
    must(cudaMalloc(&data_, std::max<size_t>(1, bytes())));
    must(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice));
  }
  explicit Device(size_t count) : Device(std::vector<T>(count)) {}  // zeros
  ~Device() { cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  T* get() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> out(count_);
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(out.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  size_t bytes() const { return count_ * sizeof(T); }
  T* data_ = nullptr;
  size_t count_;
};

// Bytes that a kernel writes, and some behind them that it must leave alone.
class MarkedBytes {
 public:
  explicit MarkedBytes(size_t bytes) : all_(std::vector<uint8_t>(bytes + kBehind, kMark)) {}

  uint8_t* get() const { return all_.get(); }
  std::vector<uint8_t> result() const {
    std::vector<uint8_t> out = all_.host();
    for (size_t i = out.size() - kBehind; i < out.size(); ++i) {
      EXPECT_EQ(out[i], kMark) << "written behind the result";
    }
    out.resize(out.size() - kBehind);
    return out;
  }

 private:
  static constexpr size_t kBehind = 64;
  static constexpr uint8_t kMark = 0xAB;
  Device<uint8_t> all_;
};

inline uint16_t to_bf16(float value) {  // nearest, ties to even
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits += 0x7FFFU + ((bits >> 16) & 1U);
  return static_cast<uint16_t>(bits >> 16);
}
inline float from_bf16(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float out;
  std::memcpy(&out, &bits, 4);
  return out;
}

inline std::vector<float> normal(size_t count, unsigned seed, float mean = 0, float std = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(mean, std);
  std::vector<float> out(count);
  for (float& value : out) value = draw(random);
  return out;
}

// -1, 0 or 1: sums of products are exact in fp32 and in any order.
inline std::vector<float> whole_numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(random() % 3) - 1;
  return out;
}

// Activations as bytes in either type.
inline std::vector<uint8_t> packed(const std::vector<float>& values, cuda::Type type) {
  std::vector<uint8_t> out(values.size() * static_cast<size_t>(cuda::size_of(type)));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t low = to_bf16(values[i]);
    if (type == cuda::Type::kFloat) {
      std::memcpy(out.data() + 4 * i, &values[i], 4);
    } else {
      std::memcpy(out.data() + 2 * i, &low, 2);
    }
  }
  return out;
}
inline std::vector<float> unpacked(const std::vector<uint8_t>& bytes, cuda::Type type) {
  std::vector<float> out(bytes.size() / static_cast<size_t>(cuda::size_of(type)));
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t low = 0;
    if (type == cuda::Type::kFloat) {
      std::memcpy(&out[i], bytes.data() + 4 * i, 4);
    } else {
      std::memcpy(&low, bytes.data() + 2 * i, 2);
      out[i] = from_bf16(low);
    }
  }
  return out;
}

// |a - b| <= tolerance * (largest |b|), for every element; names the worst one.
inline void expect_close(const std::vector<float>& got, const std::vector<float>& expected,
                         double tolerance, const char* what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 0, worst = -1;
  size_t where = 0;
  for (const float value : expected) largest = std::max(largest, std::fabs(double(value)));
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(double(got[i]) - double(expected[i]));
    if (!(error <= worst)) worst = error, where = i;
  }
  if (got.empty()) return;
  EXPECT_LE(worst, tolerance * std::max(largest, 1e-30))
      << what << "[" << where << "]: got " << got[where] << ", expected " << expected[where];
}

}  // namespace adagp::test
