#pragma once
// The store through which the processes of a run find each other, as c10d wants it.

#include <chrono>
#include <functional>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "adagp/teams/comm/rank_info.h"
#include "adagp/teams/comm/socket.h"

namespace adagp::comm {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// What an exception says, without backtraces and places in other people's sources.
std::string reason_of(const std::exception& error);

// Runs `work` in a thread and waits at most `limit` for it; a process that hangs must not hang
// those who ask after it. False: it did not finish and may still run, so `work` owns all it
// touches; what it throws is dropped.
bool within(std::chrono::milliseconds limit, std::function<void()> work);

// The run's store: our launcher's, torchrun's, or one in the process of rank 0. Keys of a restarted
// run are apart from those before. Throws Error with the address when it is not reached in time.
StorePtr open_store(const RankInfo& info, std::chrono::milliseconds timeout);

}  // namespace adagp::comm
