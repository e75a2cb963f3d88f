#include "adagp/gpu/device/kernels.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/cuda.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

#if defined(ADAGP_WITH_CUDA) && defined(ADAGP_WITH_KERNELS)
#define ADAGP_ON_GPU 1
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace adagp::device {
namespace {

int index_of(const at::Device& device) {
  return device.has_index() ? device.index() : 0;
}

}  // namespace

std::string why_no_kernels(const at::Device& device) {
  if (!device.is_cuda()) return "";
#ifdef ADAGP_ON_GPU
  static std::mutex mutex;
  static std::map<int, std::string> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [at, fresh] = known.try_emplace(index_of(device));
  if (fresh) at->second = cuda::unusable(index_of(device));
  return at->second;
#else
  return "this program was built without CUDA kernels (no nvcc was found)";
#endif
}

bool has_kernels(const at::Device& device) {
  return device.is_cuda() && why_no_kernels(device).empty();
}

int64_t block_memory(const at::Device& device) {
  if (!has_kernels(device)) return 0;
  static std::mutex mutex;
  static std::map<int, int64_t> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [at, fresh] = known.try_emplace(index_of(device));
  if (fresh) at->second = cuda::block_memory(index_of(device));
  return at->second;
}

#ifdef ADAGP_ON_GPU

cuda::Stream stream(const at::Device& device) {
  return c10::cuda::getCurrentCUDAStream(device.index()).stream();
}

void use_own_stream(const at::Device& device, Priority priority) {
  if (!device.is_cuda()) return;
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index_of(device)));
  const auto now = c10::cuda::getCurrentCUDAStream(device.index());
  if (now != c10::cuda::getDefaultCUDAStream(device.index())) return;
  now.synchronize();
  c10::cuda::setCurrentCUDAStream(
      c10::cuda::getStreamFromPool(priority == Priority::kHigh, device.index()));
}

Memory memory(const at::Device& device) {
  Memory out;
  if (!device.is_cuda()) return out;
  const auto index = static_cast<c10::DeviceIndex>(index_of(device));
  const auto [free, total] = c10::cuda::CUDACachingAllocator::get()->getMemoryInfo(index);
  out.free = static_cast<int64_t>(free);
  out.total = static_cast<int64_t>(total);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index);
  out.allocated = stats.allocated_bytes[0].current;
  out.peak = stats.allocated_bytes[0].peak;
  return out;
}

void reset_peak(const at::Device& device) {
  if (!device.is_cuda()) return;
  c10::cuda::CUDACachingAllocator::resetPeakStats(static_cast<c10::DeviceIndex>(index_of(device)));
}

void empty_cache(const at::Device& device) {
  if (device.is_cuda()) c10::cuda::CUDACachingAllocator::emptyCache();
}

#else

void empty_cache(const at::Device&) {}
cuda::Stream stream(const at::Device&) {
  return nullptr;
}
void use_own_stream(const at::Device&, Priority) {}
Memory memory(const at::Device&) {
  return {};
}
void reset_peak(const at::Device&) {}

#endif

void wake(const at::Device& device) {
  if (!device.is_cuda()) return;
  const at::Tensor one = at::ones({1}, at::TensorOptions(device)).requires_grad_();
  torch::autograd::backward({one * one}, {at::ones_like(one)});
}

bool has_type(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
}

cuda::Type type_of(const at::Tensor& x) {
  if (x.scalar_type() == at::kFloat) return cuda::Type::kFloat;
  if (x.scalar_type() == at::kBFloat16) return cuda::Type::kBFloat16;
  throw Error(core::cat("GPU kernels: got a tensor of type ", c10::toString(x.scalar_type()), " ",
                        x.sizes(),
                        ", expected fp32 or bf16 (Float, BFloat16): convert it by .to()"));
}

cuda::Map map_of(const at::Tensor& x) {
  return {x.size(0), x.size(2), x.size(3), x.size(1)};
}

at::Tensor channels_last(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor aligned_to_16_bytes(const at::Tensor& x) {
  return reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0 ? x : x.clone();
}

int64_t pitch_of(const at::Tensor& x) {
  if (x.dim() != 4 || (x.size(1) > 1 && x.stride(1) != 1)) return 0;
  const int64_t positions[] = {x.size(2) * x.size(3), 0, x.size(3), 1};  // between neighbours
  std::optional<int64_t> pitch;
  for (const int64_t d : {3, 2, 0}) {
    if (x.size(d) == 1) continue;  // its stride says nothing
    if (!pitch) pitch = x.stride(d) / positions[d];
    if (x.stride(d) != *pitch * positions[d]) return 0;
  }
  if (!pitch) return x.size(1);             // one position
  return *pitch >= x.size(1) ? *pitch : 0;  // 0: an expanded tensor, too
}

at::Tensor pitched(const at::Tensor& x) {
  return pitch_of(x) != 0 ? x : channels_last(x);
}

void* scratch(Scratch purpose, const at::Device& device, int64_t bytes) {
  return scratch(purpose, device, device.is_cuda() ? stream(device) : nullptr, bytes);
}

void* scratch(Scratch purpose, const at::Device& device, cuda::Stream stream, int64_t bytes) {
  static std::mutex mutex;
  static std::map<std::tuple<Scratch, int, cuda::Stream>, std::vector<at::Tensor>> kept;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& buffers = kept[{purpose, index_of(device), stream}];
  if (buffers.empty() || buffers.back().numel() < bytes) {
    buffers.push_back(at::zeros({bytes}, at::TensorOptions(device).dtype(at::kByte)));
  }
  return buffers.back().mutable_data_ptr();
}

void synchronise(const at::Device& device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

}  // namespace adagp::device
