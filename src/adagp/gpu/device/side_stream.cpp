#include "adagp/gpu/device/side_stream.h"

#include <map>
#include <mutex>

#include <ATen/record_function.h>

#include "adagp/base/core/log.h"
#include "adagp/gpu/device/kernels.h"

#if defined(ADAGP_WITH_CUDA) && defined(ADAGP_WITH_KERNELS)
#define ADAGP_ON_GPU 1
#include <c10/cuda/CUDAGuard.h>
#endif

namespace adagp::device {

bool SideStream::possible(const at::Device& device) {
  return has_kernels(device) && !at::hasCallbacks();
}

#ifdef ADAGP_ON_GPU
namespace {

// One for each stream, and nobody else's: a recording takes in the streams it forks to, so it must
// not be another thread's. Of the lowest priority: where both have work, that of the step is first.
c10::cuda::CUDAStream beside(const c10::cuda::CUDAStream& stream) {
  static std::mutex mutex;
  static std::map<std::pair<int, cudaStream_t>, c10::cuda::CUDAStream> known;
  const std::pair key{static_cast<int>(stream.device_index()), stream.stream()};
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  const c10::cuda::CUDAGuard device(stream.device_index());
  int least = 0, greatest = 0;
  C10_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t made = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, least));
  const auto out = c10::cuda::getStreamFromExternal(made, stream.device_index());
  known.emplace(key, out);
  return out;
}

c10::Event event_at_end_of(const c10::Stream& stream) {
  c10::Event event(stream.device_type());
  event.record(stream);
  return event;
}

}  // namespace

void SideStream::set_start() {
  if (!possible(device_)) return;
  start_ = event_at_end_of(c10::cuda::getCurrentCUDAStream(device_.index()));
}

void SideStream::run(const std::function<void()>& work) {
  if (!possible(device_)) {
    start_.reset();
    work();
    return;
  }
  const auto now = c10::cuda::getCurrentCUDAStream(device_.index());
  if (from_ && *from_ != now.unwrap()) join();
  const auto side = beside(now);
  if (!start_) set_start();
  start_->block(side);
  start_.reset();
  from_ = now.unwrap();
  const c10::cuda::CUDAStreamGuard guard(side);
  work();
}

void SideStream::join() {
  if (!from_) return;
  const c10::cuda::CUDAStream from(*from_);
  from_.reset();
  event_at_end_of(beside(from)).block(from);
}

#else

void SideStream::set_start() {}
void SideStream::run(const std::function<void()>& work) {
  work();
}
void SideStream::join() {}

#endif

SideStream::SideStream(const at::Device& device) : device_(device) {}

SideStream::~SideStream() {
  try {
    join();
  } catch (const std::exception& error) {
    core::log_warning(error.what());  // the device is in trouble, and the next call says so
  }
}

}  // namespace adagp::device
