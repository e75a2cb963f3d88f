#include "adagp/gpu/device/outside.h"

#include <utility>

namespace adagp::device {
namespace {

thread_local Recorder* present = nullptr;

}  // namespace

void outside(const std::function<void()>& work) {
  present != nullptr ? present->cut(work) : work();
}

bool records() {
  return present != nullptr;
}

RecorderScope::RecorderScope(Recorder& recorder) : previous_(std::exchange(present, &recorder)) {}

RecorderScope::~RecorderScope() {
  present = previous_;
}

}  // namespace adagp::device
