#include "adagp/engine/nn/tap.h"

namespace adagp::nn {
namespace {

thread_local TapSink* current_sink = nullptr;

}  // namespace

TapSink* active_sink() {
  return current_sink;
}

TapScope::TapScope(TapSink& sink) : previous_(current_sink) {
  current_sink = &sink;
}
TapScope::~TapScope() {
  current_sink = previous_;
}

}  // namespace adagp::nn
