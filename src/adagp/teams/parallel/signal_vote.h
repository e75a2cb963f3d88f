#pragma once
// The largest signal that any process of a group got.

#include <array>
#include <optional>
#include <string>

#include <c10/core/Event.h>

#include "adagp/teams/comm/group.h"

namespace adagp::parallel {

class SignalVote {
 public:
  explicit SignalVote(comm::Group& group);

  // Called by all; 0: nobody got one. A signal that was told once stays told, and its count grows:
  // a run ends soon after. Over nccl the answer comes from the device, behind the batches that are
  // queued there: the host does not wait for it and hears the answer to the question before, unless
  // it must know `now`.
  int ask(int signal, bool now, const std::string& doing);

 private:
  struct Answer {
    at::Tensor told;  // on the host
    std::optional<c10::Event> arrived = {};
  };
  int ask_device(bool now, const std::string& doing);

  comm::Group& group_;
  at::Tensor told_;  // by signal: how many got it, or more
  std::array<Answer, 2> answers_;
  int64_t asked_ = 0;
};

}  // namespace adagp::parallel
