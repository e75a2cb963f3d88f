#include "adagp/engine/nn/frozen.h"

namespace adagp::nn {
namespace {

thread_local int frozen_depth = 0;

}  // namespace

FrozenScope::FrozenScope() {
  ++frozen_depth;
}
FrozenScope::~FrozenScope() {
  --frozen_depth;
}
bool FrozenScope::active() {
  return frozen_depth > 0;
}

}  // namespace adagp::nn
