#include "adagp/device/event_timer.h"

#include <chrono>

#include "adagp/device/kernels.h"

#if defined(ADAGP_WITH_CUDA) && defined(ADAGP_WITH_KERNELS)
#define ADAGP_ON_GPU 1
#include <ATen/cuda/CUDAEvent.h>
#endif

namespace adagp::device {

struct EventTimer::Impl {
  explicit Impl(const at::Device& where) : device(where) {}
  at::Device device;
  std::vector<std::chrono::steady_clock::time_point> moments;
#ifdef ADAGP_ON_GPU
  std::vector<at::cuda::CUDAEvent> events;
  bool by_events() const {
    return device.is_cuda();
  }
#else
  bool by_events() const {
    return false;
  }
#endif
};

EventTimer::EventTimer(const at::Device& device) : impl_(std::make_unique<Impl>(device)) {}
EventTimer::~EventTimer() = default;

void EventTimer::add() {
#ifdef ADAGP_ON_GPU
  if (impl_->by_events()) {
    impl_->events.emplace_back(cudaEventDefault);  // with timing
    impl_->events.back().record();
    return;
  }
#endif
  synchronise(impl_->device);
  impl_->moments.push_back(std::chrono::steady_clock::now());
}

std::vector<double> EventTimer::seconds() {
  std::vector<double> out;
  synchronise(impl_->device);
#ifdef ADAGP_ON_GPU
  for (size_t i = 0; i + 1 < impl_->events.size(); ++i) {
    out.push_back(1e-3 * static_cast<double>(impl_->events[i].elapsed_time(impl_->events[i + 1])));
  }
#endif
  for (size_t i = 0; i + 1 < impl_->moments.size(); ++i) {
    out.push_back(std::chrono::duration<double>(impl_->moments[i + 1] - impl_->moments[i]).count());
  }
  return out;
}

}  // namespace adagp::device
