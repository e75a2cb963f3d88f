#pragma once
// Operations of c10d under way, with errors turned into ours.

#include <chrono>
#include <functional>
#include <future>
#include <memory>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "adagp/teams/comm/backend.h"
#include "adagp/teams/comm/flat_tensor.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/comm/peers.h"

namespace adagp::comm {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// What an operation is and with whom; runs parts of it with errors turned into ours.
struct Attempt {
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<const Peers> peers;
  std::shared_ptr<GpuBackends> gpu_backends;  // null: the host waits, not the GPU
  std::string doing;
  int peer = -1;  // in the world

  template <typename Part>
  auto run(Part part) const {
    const auto begin = Clock::now();
    try {
      return part();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw failed(reason_of(error), begin, peer);
    }
  }

  // Until `done` says so, which is asked again and again. The timeout ends it, and a process that
  // is at fault.
  void until(const std::function<bool()>& done) const;
  // Until c10d's operation is done; gloo waits by itself, and at most `limit`.
  void finish(c10d::Work& work, std::chrono::milliseconds limit = kNoTimeout) const;

  // The error to throw; the GPU waits for nobody any more.
  PeerError failed(const std::string& reason, Clock::time_point begin, int with) const;
};

class WorkTransfer : public Transfer {
 public:
  // `tells`: the work knows by itself when it is done; gloo's messages learn it from waiting.
  WorkTransfer(Attempt attempt, FlatTensor wire, WorkPtr work, bool tells)
      : attempt_(std::move(attempt)),
        wire_(std::move(wire)),
        work_(std::move(work)),
        tells_(tells) {}
  ~WorkTransfer() override;
  WorkTransfer(const WorkTransfer&) = delete;
  WorkTransfer& operator=(const WorkTransfer&) = delete;

  void wait() override;
  bool done() override;

 private:
  std::chrono::milliseconds limit() const;  // for wait(); the collectives know theirs

  Attempt attempt_;
  FlatTensor wire_;
  WorkPtr work_;  // null: done
  bool tells_;
  std::future<void> waiting_;
};

// A sum over so many members, divided when it is there.
class MeanTransfer : public Transfer {
 public:
  MeanTransfer(std::unique_ptr<Transfer> sum, const at::Tensor& tensor, int members)
      : sum_(std::move(sum)), tensor_(tensor.detach()), members_(members) {}
  void wait() override;
  bool done() override { return sum_->done(); }

 private:
  std::unique_ptr<Transfer> sum_;
  at::Tensor tensor_;
  int members_;  // 1 from wait() on
};

}  // namespace adagp::comm
