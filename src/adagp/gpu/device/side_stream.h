#pragma once
// Work that runs beside the work of the present stream.

#include <functional>
#include <optional>

#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <torch/types.h>

namespace adagp::device {

// Without our kernels (a CPU), and while somebody observes the operations (a profiler, a timer by
// kinds: their times must add up), there is no other stream: run() just does the work.
//
// Tensors of the present stream that the work uses must stay alive until join().
class SideStream {
 public:
  // Whether run() makes use of another stream now.
  static bool possible(const at::Device& device);

  explicit SideStream(const at::Device& device);
  ~SideStream();  // joins
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  // The next run() waits for what is queued by now, and not for what is queued until it is called.
  // Until then the present stream must not write what the work reads or writes, nor read what it
  // writes.
  void set_start();
  // What `work` queues begins when all that is queued so far (or was at set_start()) is done, and
  // does not delay what is queued behind it on the present stream. Can be recorded in a CUDA graph
  // together with join().
  void run(const std::function<void()>& work);
  // What the stream that was present at run() queues from now on begins when its work is done.
  void join();

 private:
  at::Device device_;
  std::optional<c10::Stream> from_;  // of a run() that is not joined
  std::optional<c10::Event> start_;
};

}  // namespace adagp::device
