#pragma once
// A recorded sequence of GPU work that is replayed with one call.

#include <functional>
#include <memory>

#include "adagp/gpu/device/outside.h"

#include <torch/types.h>

namespace adagp::device {

class Graph {
 public:
  // Whether this program can record graphs for the device; a CPU has none.
  static bool possible(const at::Device& device);

  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Records what `work` queues on the current stream, without running it. Memory that `work`
  // allocates belongs to the graph; graphs share it, so what one leaves there is valid until
  // another is replayed. What `work` does outside() the recording cuts it into pieces, and replay()
  // does it between them. Throws Error with the reason when something cannot be recorded (it waits
  // for the device, say); then nothing is recorded. Exceptions of `work` pass through.
  void capture(const at::Device& device, const std::function<void()>& work);
  bool captured() const;
  void replay();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether what is queued on the device's current stream is recorded by now, and not run.
bool recording(const at::Device& device);

}  // namespace adagp::device
