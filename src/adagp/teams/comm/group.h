#pragma once
// The processes of a run and what they say to each other: c10d's process group, with errors that
// name the rank and what was being done.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Event.h>
#include <torch/types.h>

#include "adagp/teams/comm/peer_error.h"
#include "adagp/teams/comm/rank_info.h"

namespace adagp::comm {

struct GroupOptions {
  std::string backend = "auto";  // auto: nccl where every process has a GPU of its own, else gloo
  // Of waiting for others. Over nccl it runs while the GPU computes what is queued before, too.
  std::chrono::milliseconds timeout{60000};
};

// A message that has been sent or is being received; the tensors live as long as it does. Destroyed
// before it is done, it is given up: what was sent may not arrive.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void wait() = 0;  // throws PeerError
  // Whether wait() will return, or throw, at once. What was received is in its tensor after wait().
  // Under gloo a message between two members costs a thread from the first question on.
  virtual bool done() = 0;
};

// Every member throws PeerError when a peer is gone, late or of another mind. Collectives are
// called by all members of a group in the same order.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;  // in this group
  virtual int size() const = 0;
  virtual int world_rank(int member) const = 0;  // errors speak of these
  virtual std::string backend() const = 0;       // "gloo", "nccl"
  // Where tensors travel without a copy.
  virtual at::Device device() const { return at::kCPU; }

  // `doing` goes into the message of an error: "the gradients of batch 7". A dense tensor travels
  // as it lies in memory (channels-last, too), any other in the order of its indices: all members
  // pass tensors of equal sizes, strides and type.
  virtual void sum(std::vector<at::Tensor>& tensors, const std::string& doing) = 0;  // in place
  virtual std::unique_ptr<Transfer> sum_later(const at::Tensor& tensor,
                                              const std::string& doing) = 0;
  // The mean over the members, in place. On a GPU `beside` takes a stream of its own; without, what
  // is queued from now on comes behind it, which costs less where nothing else is to be done.
  virtual std::unique_ptr<Transfer> mean_later(const at::Tensor& tensor, const std::string& doing,
                                               bool beside);
  virtual void broadcast(at::Tensor& tensor, int from, const std::string& doing) = 0;
  // One text of each member, by rank.
  virtual std::vector<std::string> gather(const std::string& text, const std::string& doing) = 0;

  // One row of each member, by rank, all of equal length and type; on the row's device.
  virtual std::vector<at::Tensor> gather_rows(const at::Tensor& row, const std::string& doing) = 0;

  // Between two members; messages with equal tags arrive in order. Sending never blocks. Tensors on
  // a GPU travel through the host's memory where the backend cannot send them. nccl knows no tags:
  // there the messages from one member to another are received in the order of their sending.
  virtual std::unique_ptr<Transfer> send(const at::Tensor& tensor, int to, int tag,
                                         const std::string& doing) = 0;
  virtual std::unique_ptr<Transfer> receive(at::Tensor tensor, int from, int tag,
                                            const std::string& doing) = 0;

  // Called by all; returns when `member` has called it, however long that takes: there is no
  // timeout, but the member's process is watched.
  virtual void wait_for(int member, const std::string& doing) = 0;

  // Until the GPU is there, or has done all that is queued. PeerError when that takes longer than
  // the timeout, or when a process is at fault: over nccl sums stand in its queue that a member
  // which hangs never joins, and nothing else would end the waiting. After a PeerError no group of
  // this process can exchange anything over nccl.
  virtual void await(c10::Event& event, const std::string& doing);
  virtual void settle(const std::string& doing);

  // The members with equal `colour`, ranked as here. Called by all.
  virtual std::unique_ptr<Group> split(int colour, const std::string& name) = 0;

  // To be called on the way out with an error of any kind: the others' errors will quote it. Does
  // its best within a second or two.
  virtual void tell_failure(const std::string& message) const noexcept = 0;
};

// Joins the others. Throws Error with the address when they are not there within the timeout.
std::unique_ptr<Group> join(const RankInfo& info, const GroupOptions& options, at::Device device);

// What this program was built with: "gloo", "nccl".
std::vector<std::string> backends();
// Why gloo is not among them, and what to do about it; "" when it is.
std::string why_no_gloo();

}  // namespace adagp::comm
