#pragma once
// What goes wrong between the processes of a run. No torch here.

#include "adagp/base/core/error.h"

namespace adagp::comm {

// A peer is gone, late or of another mind. The message begins with the rank that noticed and names
// what it was doing and, where it can be told, the rank at fault.
class PeerError : public Error {
 public:
  using Error::Error;
};

}  // namespace adagp::comm
