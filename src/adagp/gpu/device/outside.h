#pragma once
// What a step does that no recording can hold: messages to other processes, and what the host
// counts.

#include <functional>

namespace adagp::device {

// Does `work` at once. While this thread records, it is kept instead, and every replay does it at
// this place. So it must find its tensors where they are now, and change nothing that the host
// decides by while it records.
void outside(const std::function<void()>& work);

// Who records what this thread does; `cut` keeps the work for its replays.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void cut(const std::function<void()>& work) = 0;
};

// While one is alive, this thread records.
class RecorderScope {
 public:
  explicit RecorderScope(Recorder& recorder);
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  Recorder* previous_;
};
bool records();

}  // namespace adagp::device
