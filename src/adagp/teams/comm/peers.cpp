#include "adagp/teams/comm/peers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>

#include "adagp/base/core/text.h"
#include "adagp/teams/comm/process_state.h"

namespace adagp::comm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// The limit for one question to the store: a quarter of the timeout, from a second to a minute. On
// a busy machine an answer can take longer than a second. `ask` waits only a second again for a
// store that did not answer.
constexpr milliseconds kStoreLimit{1000}, kMostForStore{60000};
constexpr milliseconds kLookLimit{1500};  // for the fault to show: processes die in steps

milliseconds store_limit(milliseconds timeout) {
  return std::clamp(timeout / 4, kStoreLimit, kMostForStore);
}

std::string seconds_text(milliseconds time) {
  return core::shortest(std::chrono::duration<double>(time).count());
}

std::string pack(const Peer& peer) {
  return core::join(
      {peer.host, peer.space, std::to_string(peer.pid), peer.started, peer.gpu, peer.wants,
       core::join({peer.offers.begin(), peer.offers.end()}, ","), std::to_string(peer.world)},
      "\n");
}

Peer unpack(const std::string& text) {
  const auto fields = core::split(text, '\n');
  if (fields.size() != 8) {
    throw PeerError("parallel: a peer of another version of this program");
  }
  const auto offers = core::split(fields[6], ',');
  return {fields[0], fields[1], std::atoll(fields[2].c_str()),  fields[3],
          fields[4], fields[5], {offers.begin(), offers.end()}, std::atoi(fields[7].c_str())};
}

std::string here_key(int rank) {
  return core::cat("here/", rank);
}
std::string failed_key(int rank) {
  return core::cat("failed/", rank);
}

// The ranks whose keys are not there; empty when the store does not tell of all. Asked in a thread:
// the store itself may have gone away, and the thread may go on after the limit.
std::vector<int> missing_of(const StorePtr& store, const std::vector<std::string>& keys,
                            milliseconds timeout) {
  auto found = std::make_shared<std::optional<std::vector<int>>>();
  const bool answered = within(store_limit(timeout), [found, keys, store] {
    std::vector<int> missing;
    for (size_t rank = 0; rank < keys.size(); ++rank) {
      if (!store->check({keys[rank]})) missing.push_back(static_cast<int>(rank));
    }
    *found = std::move(missing);
  });
  return answered && *found ? std::move(**found) : std::vector<int>();
}

std::string list(const std::vector<int>& ranks) {
  std::vector<std::string> words;
  for (const int rank : ranks) words.push_back(std::to_string(rank));
  return core::cat(ranks.size() == 1 ? "rank " : "ranks ", core::join(words, ", "));
}

}  // namespace

PeerError in_vain(const RankInfo& info, const std::string& who, milliseconds timeout) {
  return PeerError(
      core::cat("rank ", info.rank, " of ", info.world, ": waiting for ", info.world,
                " processes at ", info.store_address(), ": within ", seconds_text(timeout), " s ",
                who, "; check that WORLD_SIZE processes were started, and how those ended"));
}

std::string who_came(int world, const std::vector<int>& missing) {
  return core::cat(world - static_cast<int>(missing.size()), " came, ", list(missing), " did not");
}

Peer this_process() {
  Peer self;
  std::array<char, 256> text{};
  if (gethostname(text.data(), text.size() - 1) == 0) self.host = text.data();
  const auto length = readlink("/proc/self/ns/pid", text.data(), text.size());
  if (length > 0) self.space = std::string(text.data(), static_cast<size_t>(length));
  self.pid = getpid();
  self.started = process_state(self.pid).started;
  return self;
}

Peers::Peers(StorePtr store, const RankInfo& info, Peer self, milliseconds timeout)
    : store_(std::move(store)), rank_(info.rank), world_(info.world), timeout_(timeout) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < world_; ++rank) keys.push_back(here_key(rank));
  std::string reason;
  try {
    self.world = world_;
    // Two runs at one address would take each other's processes for their own.
    const std::string mine = pack(self);
    const std::string there = store_->compareSet(here_key(rank_), "", mine);
    if (there != mine) {
      const Peer other = unpack(there);
      throw PeerError(core::cat(prefix(), "at ", info.store_address(), " another process is rank ",
                                rank_, " already (pid ", other.pid, " on ", other.host,
                                "): another run has this address; choose another MASTER_PORT"));
    }
    store_->wait(keys, timeout_);
    for (const auto& key : keys) all_.push_back(unpack(text_of(store_->get(key))));
    for (int rank = 0; rank < world_; ++rank) {
      if (all_[rank].world == world_) continue;
      throw PeerError(core::cat(prefix(), "rank ", rank, " was started with WORLD_SIZE=",
                                all_[rank].world, ", this process with WORLD_SIZE=", world_,
                                "; start all processes with the same WORLD_SIZE"));
    }
    return;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    reason = reason_of(error);
  }
  const std::vector<int> missing = missing_of(store_, keys, timeout_);
  throw in_vain(info,
                missing.empty() ? core::cat("not all of them came (", reason, ")")
                                : who_came(world_, missing),
                timeout_);
}

std::string Peers::prefix() const {
  return core::cat("rank ", rank_, " of ", world_, ": ");
}

std::string Peers::name(int rank) const {
  const Peer& peer = all_[rank];
  return core::cat("rank ", rank, " (pid ", peer.pid,
                   peer.host == all_[rank_].host ? "" : " on " + peer.host, ")");
}

bool Peers::beside(int rank) const {
  return all_[rank].host == all_[rank_].host && all_[rank].space == all_[rank_].space;
}

bool Peers::ask(std::function<void()> work) const {
  const bool answered =
      within(store_silent_ ? kStoreLimit : store_limit(timeout_), std::move(work));
  store_silent_ = !answered;
  return answered;
}

void Peers::tell(const std::string& message) const noexcept {
  try {
    ask([store = store_, key = failed_key(rank_), message] {
      store->set(key, message);
      store->check({key});  // it is there, not only on its way
    });
  } catch (...) {  // no thread to be had: nothing else to try on the way out
  }
}

std::map<int, std::string> Peers::read_messages() const {
  auto found = std::make_shared<std::map<int, std::string>>();
  const bool answered = ask([found, store = store_, world = world_, own = rank_] {
    for (int rank = 0; rank < world; ++rank) {
      if (rank == own || !store->check({failed_key(rank)})) continue;
      (*found)[rank] = text_of(store->get(failed_key(rank)));
    }
  });
  return answered ? *found : std::map<int, std::string>{};
}

Peers::Findings Peers::look() const {
  Findings findings;
  const auto messages = read_messages();
  for (int rank = 0; rank < world_; ++rank) {
    if (rank == rank_) continue;
    const auto message = messages.find(rank);
    const bool spoke = message != messages.end();
    // An error that another's fault brought about explains nothing by itself.
    if (spoke && message->second.starts_with(core::cat("rank ", rank, " of ", world_, ": "))) {
      findings.said[rank] = message->second;
      continue;
    }
    if (spoke) {
      findings.at_fault[rank] = core::cat(name(rank), " said: ", message->second);
      continue;
    }
    const Peer& peer = all_[rank];
    const bool here = beside(rank);
    const auto [state, started, used] = here ? process_state(peer.pid) : ProcessState{'?', "", 0};
    const bool gone =
        state == '\0' || state == 'Z' || state == 'X' || (here && started != peer.started);
    if (gone) {
      findings.at_fault[rank] = core::cat(name(rank), " is gone");
    } else if (state == 'T' || state == 't') {
      findings.at_fault[rank] = core::cat(name(rank), " is stopped (state ", state, ")");
    } else {
      findings.silent.push_back(rank);
    }
  }
  return findings;
}

std::optional<int> Peers::first_at_fault() const {
  const Findings found = look();
  if (!found.at_fault.empty()) return found.at_fault.begin()->first;
  if (!found.said.empty()) return found.said.begin()->first;
  return std::nullopt;
}

PeerError Peers::error(const std::string& doing, const std::string& reason, double waited,
                       int peer) const {
  const std::string start = core::cat(prefix(), doing, ": ");
  const std::string facts =
      core::cat(" (waited ", core::fixed(waited, 1), " s",
                peer < 0 ? "" : core::cat(" for rank ", peer), "; ", reason, ")");
  tell(start + reason);  // those who look now see that this one is not at fault
  const bool late = waited * 1000 >= 0.95 * static_cast<double>(timeout_.count());
  const auto until = Clock::now() + kLookLimit;
  Findings findings = look();
  while (findings.at_fault.empty() && !findings.silent.empty() && Clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(20));
    findings = look();
  }
  std::vector<std::string> causes;
  for (const auto& [rank, cause] : findings.at_fault) causes.push_back(cause);
  if (causes.empty() && late) {
    // Of several without a word the one that was waited for is the nearest to blame.
    const auto& silent = findings.silent;
    const bool known = std::find(silent.begin(), silent.end(), peer) != silent.end();
    for (const int rank : known ? std::vector<int>{peer} : silent) {
      causes.push_back(core::cat(name(rank), beside(rank) ? " is alive but" : "",
                                 " did not answer within ", seconds_text(timeout_), " s"));
    }
  }
  if (causes.empty()) {
    for (const auto& [rank, said] : findings.said) causes.push_back("[" + said + "]");
  }
  if (causes.empty() && peer >= 0) causes.push_back(name(peer) + " broke off");
  if (causes.empty()) causes.push_back("the others broke off");
  const std::string message = start + core::join(causes, "; ") + facts;
  tell(message);
  return PeerError(message);
}

}  // namespace adagp::comm
