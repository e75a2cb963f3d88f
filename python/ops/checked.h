#pragma once
// What every operator begins with: tensors that are as a kernel expects them, and the place where
// it runs. Kernels trust their pointers, so tensors are checked here.

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <vector>

#include "adagp/gpu/cuda/norm/norm.h"
#include "adagp/gpu/cuda/predictor/predictor.h"

#ifdef ADAGP_WITH_KERNELS
// Of libtorch_cuda, which a torch without CUDA does not have: looked up when it is called.
extern "C" int aoti_torch_get_current_cuda_stream(int32_t device, void** stream)
    __attribute__((weak));
#endif

namespace adagp::ops {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using Tensors = std::vector<Tensor>;
using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
namespace cuda = adagp::cuda;

// Every element once, in memory without gaps: what a pointer and a count describe.
inline bool dense(const Tensor& x) {
  int64_t span = 1;
  for (int64_t d = 0; d < x.dim(); ++d) span += (x.size(d) - 1) * x.stride(d);
  return x.numel() == 0 || span == x.numel();
}

inline const Tensor& checked(const Tensor& x, ScalarType type, const char* name) {
  STD_TORCH_CHECK(x.scalar_type() == type, "adagp: ", name, " has another dtype than expected");
  STD_TORCH_CHECK(dense(x), "adagp: ", name, " has gaps in memory; call contiguous()");
  return x;
}

inline float* floats(const Tensor& x, const char* name, int64_t count = -1) {
  checked(x, ScalarType::Float, name);
  STD_TORCH_CHECK(count < 0 || x.numel() == count, "adagp: ", name, " has ", x.numel(),
                  " elements, expected ", count);
  return static_cast<float*>(x.mutable_data_ptr());
}

inline cuda::Type type_of(const Tensor& x, const char* name) {
  const bool low = x.scalar_type() == ScalarType::BFloat16;
  STD_TORCH_CHECK(low || x.scalar_type() == ScalarType::Float, "adagp: ", name,
                  " must be float32 or bfloat16");
  return low ? cuda::Type::kBFloat16 : cuda::Type::kFloat;
}

// Where a call runs: the references on a CPU, the kernels on the current stream of a GPU.
struct OnCpu {
  explicit OnCpu(const Tensor&) {}
  void run(const cuda::StatsArgs& a) { cuda::reference::norm_stats(a); }
  void run(const std::vector<cuda::PoolArgs>& layers) {
    cuda::reference::pool_cells(layers.data(), static_cast<int64_t>(layers.size()), cuda::kSummary);
  }
  void run(const cuda::FeaturesArgs& a) { cuda::reference::predictor_features(a); }
  void run(const cuda::PredictArgs& a) { cuda::reference::predict_update(a); }
  void run(const cuda::TrainArgs& a) { cuda::reference::predictor_train(a); }
  static int64_t stats(int64_t) { return 0; }
  static int64_t train(const std::vector<cuda::PredictedLayer>&, int64_t) { return 0; }
};

#ifdef ADAGP_WITH_KERNELS
struct OnCuda {
  explicit OnCuda(const Tensor& x) : device(x.get_device_index()), guard(device) {
    STD_TORCH_CHECK(aoti_torch_get_current_cuda_stream != nullptr &&
                        aoti_torch_get_current_cuda_stream(device, &stream) == 0,
                    "adagp: this torch gives no CUDA stream");
  }
  void run(const cuda::StatsArgs& a) { cuda::norm_stats(a, stream); }
  void run(const std::vector<cuda::PoolArgs>& layers) {
    cuda::pool_cells(layers.data(), static_cast<int64_t>(layers.size()), cuda::kSummary, stream);
  }
  void run(const cuda::FeaturesArgs& a) { cuda::predictor_features(a, stream); }
  void run(const cuda::PredictArgs& a) { cuda::predict_update(a, stream); }
  void run(cuda::TrainArgs a) {
    a.block_memory = cuda::block_memory(device);
    cuda::predictor_train(a, stream);
  }
  static int64_t stats(int64_t channels) {
    // For a map of any size: it has no more cells than this one.
    return cuda::stats_workspace({1, 1 << 10, 1 << 10, channels}, cuda::kSummary);
  }
  static int64_t train(const std::vector<cuda::PredictedLayer>& layers, int64_t widest) {
    return cuda::train_workspace(layers.data(), static_cast<int64_t>(layers.size()), widest);
  }
  int device;
  torch::stable::accelerator::DeviceGuard guard;
  void* stream = nullptr;
};
#endif

}  // namespace adagp::ops
