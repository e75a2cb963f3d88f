#pragma once
// A store for processes on this machine, as a launcher offers it. No torch here.

#include <memory>

namespace adagp::parallel {

// On a free port of the loopback interface, for as long as the object lives.
class StoreHost {
 public:
  StoreHost();
  int port() const { return port_; }

 private:
  int port_ = 0;
  std::shared_ptr<void> store_;
};

}  // namespace adagp::parallel
