#pragma once
// The two engines of c10d, each in a file of its own: their headers are heavy and not everywhere.

#include <chrono>
#include <vector>

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

// The backends of this process whose operations wait on the GPU: those of NCCL.
class GpuBackends {
 public:
  void add(const BackendPtr& backend) { all_.emplace_back(backend); }
  // Ends their kernels, also those that wait for a process that hangs. All backends at once: one
  // that ends may have to wait for the kernels of another. Nothing can be sent afterwards.
  void abort_all() noexcept;
  bool aborted() const { return aborted_; }

 private:
  std::vector<c10::weak_intrusive_ptr<c10d::Backend>> all_;
  bool aborted_ = false;
};

bool have_gloo();
bool have_nccl();
// These throw UsageError where the program was built without.
BackendPtr make_gloo(const BackendRequest& request);
BackendPtr make_nccl(const BackendRequest& request);

}  // namespace adagp::comm
