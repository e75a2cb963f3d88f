#pragma once
// Operations of c10d under way, with errors turned into ours.

#include <chrono>
#include <future>
#include <memory>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "adagp/teams/comm/flat_tensor.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/comm/peers.h"

namespace adagp::comm {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// What an operation is and with whom; runs parts of it with errors turned into ours.
struct Attempt {
  std::shared_ptr<const Peers> peers;
  std::string doing;
  int peer = -1;  // in the world

  template <typename Part>
  auto run(Part part) const {
    const auto start = std::chrono::steady_clock::now();
    try {
      return part();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      throw peers->error(doing, reason_of(error), waited.count(), peer);
    }
  }
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
