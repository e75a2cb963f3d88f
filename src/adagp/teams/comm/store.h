#pragma once
// The store through which the processes of a run find each other.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "adagp/teams/comm/rank_info.h"

namespace adagp::comm {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// A value as a text.
inline std::string text_of(const std::vector<uint8_t>& value) {
  return {value.begin(), value.end()};
}

// What an exception says, without backtraces and places in other people's sources.
std::string reason_of(const std::exception& error);

// Runs `work` in a thread and waits at most `limit` for it; a process that hangs must not hang
// those who ask after it. False: it did not finish and may still run, so `work` owns all it
// touches; what it throws is dropped.
bool within(std::chrono::milliseconds limit, std::function<void()> work);

// The run's store, one of c10d's: our launcher's file, torchrun's server, or one in the process of
// rank 0. Keys of a restarted run are apart from those before (meeting.h). Throws Error with the
// address when it is not reached in time.
StorePtr open_store(const RankInfo& info, std::chrono::milliseconds timeout);

}  // namespace adagp::comm
