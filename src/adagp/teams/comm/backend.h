#pragma once
// The two engines of c10d, each in a file of its own: their headers are heavy and not everywhere.

#include <chrono>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "adagp/teams/comm/store.h"

namespace adagp::comm {

using BackendPtr = c10::intrusive_ptr<c10d::Backend>;

struct BackendRequest {
  StorePtr store;  // of this group alone
  int rank = 0, size = 1;
  std::chrono::milliseconds timeout{};
  std::string master;  // host of the run's store, for the network interface to use
};

bool have_gloo();
bool have_nccl();
// These throw UsageError where the program was built without.
BackendPtr make_gloo(const BackendRequest& request);
BackendPtr make_nccl(const BackendRequest& request);

}  // namespace adagp::comm
