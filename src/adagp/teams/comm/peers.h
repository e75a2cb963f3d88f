#pragma once
// Who the other processes are, and what became of them when something fails.

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adagp/teams/comm/peer_error.h"
#include "adagp/teams/comm/rank_info.h"
#include "adagp/teams/comm/store.h"

namespace adagp::comm {

// What a process tells of itself when it joins.
struct Peer {
  std::string host;
  std::string space;  // the kernel's name for its process ids: containers of a host have their own
  long long pid = 0;
  std::string started;           // by the kernel's clock: process ids are used again
  std::string gpu;               // which it computes on; empty: none
  std::string wants;             // the option of the backend
  std::set<std::string> offers;  // backends of its program
  int world = 0;                 // how many processes it was told of
};

class Peers {
 public:
  // Tells the others of this process and waits for them. Throws Error naming those that are
  // missing.
  Peers(StorePtr store, const RankInfo& info, Peer self, std::chrono::milliseconds timeout);

  const std::vector<Peer>& all() const { return all_; }
  std::chrono::milliseconds timeout() const { return timeout_; }

  // The error of an operation that failed with `reason` after `waited` seconds, having looked for
  // whose fault it is. `peer`: the rank it was with, or -1. Also told to the others.
  PeerError error(const std::string& doing, const std::string& reason, double waited,
                  int peer) const;
  // Whether this rank is known to be gone, stopped or at its end with an error.
  bool at_fault(int rank) const {
    const Findings found = look();
    return found.at_fault.contains(rank) || found.said.contains(rank);
  }
  // The first of the others of which that is known.
  std::optional<int> first_at_fault() const;
  static constexpr std::chrono::seconds kLookPeriod{1};  // of those who wait

  // What the others quote in their errors. Best effort: within a quarter of the timeout, and a
  // minute at most.
  void tell(const std::string& message) const noexcept;

 private:
  struct Findings {
    std::map<int, std::string> at_fault;  // rank -> what is wrong with it
    std::map<int, std::string> said;      // rank -> its own error, when that was of this kind too
    std::vector<int> silent;              // alive, or elsewhere, and without a word
  };
  // Asks the store in a thread. False: it did not answer in time.
  bool ask(std::function<void()> work) const;
  Findings look() const;
  std::map<int, std::string> read_messages() const;
  std::string name(int rank) const;
  bool beside(int rank) const;  // where its process can be seen from here
  std::string prefix() const;

  StorePtr store_;
  int rank_, world_;
  std::chrono::milliseconds timeout_;
  std::vector<Peer> all_;
  mutable std::atomic<bool> store_silent_ = false;  // when it was asked last
};

// The error of waiting in vain for all processes of a run; `who` says which did not come.
PeerError in_vain(const RankInfo& info, const std::string& who, std::chrono::milliseconds timeout);
// "2 came, ranks 2, 3 did not"
std::string who_came(int world, const std::vector<int>& missing);

// This process, but for what the caller knows better (gpu, wants, offers).
Peer this_process();

}  // namespace adagp::comm
