#pragma once
// A group whose exchanges take as long as over a slower link: for experiments with bandwidths that
// this machine does not have. Values are those of the group inside.

#include <memory>

#include "adagp/teams/comm/group.h"

namespace adagp::comm {

// Of each member's link to the next one; 0: as it is.
struct Link {
  double bandwidth = 0;  // bytes per second
  double latency = 0;    // seconds
  bool any() const { return bandwidth > 0 || latency > 0; }
};

// A sum takes what a ring of equal members needs: 2 (P - 1) messages of bytes / P. Gathered rows
// take P - 1 messages of a row. Exchanges use the link one after the other, and the time of waiting
// for a link is spent asleep. Broadcasts, messages between two members and texts are not slowed.
// Throws UsageError for NCCL, whose exchanges the GPU waits for and not the host.
std::unique_ptr<Group> throttled(std::unique_ptr<Group> group, const Link& link);

}  // namespace adagp::comm
