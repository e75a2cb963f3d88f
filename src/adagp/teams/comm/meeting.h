#pragma once
// How the processes of one start of a run find each other in a store that outlives them.

#include <chrono>

#include "adagp/teams/comm/store.h"

namespace adagp::comm {

// The part of `store` for this start alone, where keys of former starts are not. Rank 0 gives it a
// name and returns when all others know it. torchrun has no such name: each machine counts its
// restarts for itself, and none counts a node that came or left. Throws PeerError naming who did
// not come within the timeout, and Interrupted after a signal.
StorePtr meet(const StorePtr& store, const RankInfo& info, std::chrono::milliseconds timeout);

}  // namespace adagp::comm
