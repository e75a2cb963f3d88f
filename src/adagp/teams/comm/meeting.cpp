#include "adagp/teams/comm/meeting.h"

#include <unistd.h>

#include <exception>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/peers.h"

namespace adagp::comm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kBetweenLooks{10}, kBetweenSignals{250};
// More than a store that is there takes to answer, on a busy machine too.
constexpr milliseconds kAnswerLimit{10000};

// No other process has it, of no start.
std::string new_name(int rank) {
  std::random_device random;
  return core::cat(rank, "-", getpid(), "-", random(), "-", random());
}

std::string came_key(int rank) {
  return core::cat("came/", rank);
}
std::string answer_key(const std::string& name) {
  return core::cat("answer/", name);
}
std::string knows_key(int rank) {
  return core::cat("knows/", rank);
}

class Meeting {
 public:
  Meeting(StorePtr store, const RankInfo& info, milliseconds timeout)
      : store_(std::move(store)),
        info_(info),
        timeout_(timeout),
        until_(Clock::now() + timeout),
        own_(new_name(info.rank)) {}

  StorePtr lead() {
    const StorePtr start = part(own_);
    std::vector<int> missing;
    for (int rank = 1; rank < info_.world; ++rank) missing.push_back(rank);
    while (true) {
      std::erase_if(missing, [&](int rank) { return start->check({knows_key(rank)}); });
      if (missing.empty()) return start;
      for (const int rank : missing) answer(rank);
      go_on_waiting([&] { return who_came(info_.world, missing); });
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  StorePtr follow() {
    store_->set(came_key(info_.rank), own_);
    while (!answered()) go_on_waiting([] { return "rank 0 did not come"; });
    const StorePtr start = part(text_of(store_->get(answer_key(own_))));
    start->set(knows_key(info_.rank), std::string("1"));
    return start;
  }

 private:
  StorePtr part(const std::string& name) const {
    return c10::make_intrusive<c10d::PrefixStore>("start/" + name, store_);
  }

  // The last who came as this rank may be of a former start, and another may come after it: each
  // is answered by its own name.
  void answer(int rank) {
    if (!store_->check({came_key(rank)})) return;
    const std::string name = text_of(store_->get(came_key(rank)));
    if (answered_.insert(name).second) store_->set(answer_key(name), own_);
  }

  bool answered() const {
    try {
      store_->wait({answer_key(own_)}, kBetweenSignals);
      return true;
    } catch (const std::exception&) {  // it is not there yet, or the store is gone
      return store_->check({answer_key(own_)});
    }
  }

  template <typename Who>
  void go_on_waiting(Who who) const {
    if (const int signal = core::pending_signal(); signal != 0) {
      throw Interrupted(core::cat("rank ", info_.rank, " of ", info_.world,
                                  ": interrupted before all processes had come"),
                        signal);
    }
    if (Clock::now() >= until_) throw in_vain(info_, who(), timeout_);
  }

  StorePtr store_;
  RankInfo info_;
  milliseconds timeout_;
  Clock::time_point until_;
  std::string own_;
  std::set<std::string> answered_;
};

}  // namespace

StorePtr meet(const StorePtr& store, const RankInfo& info, milliseconds timeout) {
  struct Outcome {
    StorePtr start;
    std::exception_ptr error;
  };
  const auto outcome = std::make_shared<Outcome>();
  // In a thread: a question to a store that went silent never ends.
  const bool ended = within(timeout + kAnswerLimit, [outcome, store, info, timeout] {
    try {
      Meeting meeting(store, info, timeout);
      outcome->start = info.rank == 0 ? meeting.lead() : meeting.follow();
    } catch (...) {
      outcome->error = std::current_exception();
    }
  });
  if (!ended) throw in_vain(info, "the store did not answer", timeout);
  try {
    if (outcome->error) std::rethrow_exception(outcome->error);
    return outcome->start;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw PeerError(core::cat("rank ", info.rank, " of ", info.world, ": the store at ",
                              info.store_address(), " is gone: ", reason_of(error)));
  }
}

}  // namespace adagp::comm
