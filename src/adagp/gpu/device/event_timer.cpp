#include "adagp/gpu/device/event_timer.h"

#include <chrono>

#include "adagp/gpu/device/kernels.h"

#if defined(ADAGP_WITH_CUDA) && defined(ADAGP_WITH_KERNELS)
#define ADAGP_ON_GPU 1
#include <ATen/cuda/CUDAEvent.h>
#endif

namespace adagp::device {

struct EventTimer::Impl {
  Impl(const at::Device& where, Use how) : device(where), use(how) {}
  at::Device device;
  Use use;
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

EventTimer::EventTimer(const at::Device& device, Use use)
    : impl_(std::make_unique<Impl>(device, use)) {}
EventTimer::~EventTimer() = default;

void EventTimer::add() {
#ifdef ADAGP_ON_GPU
  if (impl_->by_events()) {
    // Both with timing. An external event is written by each replay of a graph, and outside of
    // recordings it is an ordinary one.
    const bool recordable = impl_->use == Use::kRecordable;
    impl_->events.emplace_back(recordable ? cudaEventDefault | cudaEventExternal
                                          : cudaEventDefault);
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
