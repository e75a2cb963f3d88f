#pragma once
// A group on one of c10d's backends.

#include <memory>
#include <string>
#include <vector>

#include "adagp/teams/comm/backend.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/comm/peers.h"

namespace adagp::comm {

// All groups of a process stand on these.
struct Ground {
  StorePtr store;
  std::shared_ptr<const Peers> peers;
  std::shared_ptr<GpuBackends> gpu_backends;  // null over gloo
  std::string backend, master;
  at::Device device = at::kCPU;  // where the backend wants its tensors
  int rank = 0;                  // in the world
};

// The group of `members` (ranks in the world, this process among them); `name` is its own in the
// run. Called by all members.
std::unique_ptr<Group> make_group(const Ground& ground, std::vector<int> members,
                                  const std::string& name);

}  // namespace adagp::comm
