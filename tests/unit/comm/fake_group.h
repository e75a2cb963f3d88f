#pragma once
// Members of a group in one process, without a backend: what is sent lies where the sender left it
// until it is received, so that a sender who changes it or lets go of it too early is found out.
// When every thread waits and nothing can come any more, all of them throw, at once.

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "adagp/teams/comm/flat_tensor.h"
#include "adagp/teams/comm/group.h"

namespace adagp::testing {

// What the members of a group share.
class Exchange {
 public:
  // One thread may act for all members, as long as it never waits for itself.
  explicit Exchange(int count) : members(count) {}

  struct Message {
    int from, to, tag;
    at::Tensor tensor;
    bool received = false;
    bool held = true;  // by its sender
  };
  struct Sum {
    std::vector<at::Tensor> parts;  // by member; undefined: not there yet
    std::vector<std::string> doing;
    at::Tensor result = {};
  };

  void change(const std::function<void()>& what) {
    const std::lock_guard lock(mutex_);
    what();
    ++changes_;
    waiting_ = 0;  // whoever waits looks again
    changed_.notify_all();
  }
  // `look` returns whether what is waited for is there, and then takes it.
  void wait(const std::string& doing, const std::function<bool()>& look) {
    std::unique_lock lock(mutex_);
    while (!look()) {
      ++waiting_;
      give_up_if_all_wait();
      if (stuck_)
        throw comm::PeerError(doing + ": all members wait for something that never comes");
      changed_.wait(lock, [&, seen = changes_] { return stuck_ || changes_ != seen; });
    }
  }
  // From now on so many threads call, until each has left.
  void enter(int threads) {
    const std::lock_guard lock(mutex_);
    threads_ = threads;
    waiting_ = 0;
    stuck_ = false;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --threads_;
    give_up_if_all_wait();
    for (const auto& [name, part] : parts_) part->leave();
  }
  // Of a group within this one; whoever asks first makes it.
  std::shared_ptr<Exchange> part(const std::string& name, int count) {
    const std::lock_guard lock(mutex_);
    auto& found = parts_[name];
    if (!found) {
      found = std::make_shared<Exchange>(count);
      found->enter(count);
    }
    return found;
  }
  bool look(const std::function<bool()>& at) {
    const std::lock_guard lock(mutex_);
    return at();
  }

  const int members;
  // All that was sent, in its order; what was given up is removed.
  std::vector<std::shared_ptr<Message>> messages;
  std::deque<Sum> sums;  // the n-th of every member meet here

 private:
  void give_up_if_all_wait() {
    if (threads_ > 0 && waiting_ < threads_) return;
    stuck_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int threads_ = 1, waiting_ = 0;
  std::map<std::string, std::shared_ptr<Exchange>> parts_;
  int64_t changes_ = 0;
  bool stuck_ = false;
};

class FakeGroup : public comm::Group {
 public:
  FakeGroup(std::shared_ptr<Exchange> exchange, int rank)
      : exchange_(std::move(exchange)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return exchange_->members; }
  int world_rank(int member) const override { return member; }
  std::string backend() const override { return "fake"; }

  void sum(std::vector<at::Tensor>& tensors, const std::string& doing) override {
    for (const at::Tensor& tensor : tensors) sum_later(tensor, doing)->wait();
  }
  std::unique_ptr<comm::Transfer> sum_later(const at::Tensor& tensor,
                                            const std::string& doing) override {
    exchange_->change([&] {
      auto& sums = exchange_->sums;
      if (sums.size() <= sums_) sums.push_back({std::vector<at::Tensor>(size()), {}});
      sums[sums_].parts[rank_] = tensor;
      sums[sums_].doing.push_back(doing);
    });
    return std::make_unique<SumTransfer>(exchange_, sums_++, tensor, doing);
  }

  std::unique_ptr<comm::Transfer> send(const at::Tensor& tensor, int to, int tag,
                                       const std::string& doing) override {
    auto message =
        std::make_shared<Exchange::Message>(Exchange::Message{rank_, to, tag, tensor.detach()});
    exchange_->change([&] { exchange_->messages.push_back(message); });
    return std::make_unique<SendTransfer>(exchange_, message, doing);
  }
  std::unique_ptr<comm::Transfer> receive(at::Tensor tensor, int from, int tag,
                                          const std::string& doing) override {
    return std::make_unique<ReceiveTransfer>(exchange_, std::tuple(from, rank_, tag), tensor,
                                             doing);
  }

  void broadcast(at::Tensor&, int, const std::string&) override { not_faked(); }
  // As a sum in which every member has a row of its own.
  std::vector<at::Tensor> gather_rows(const at::Tensor& row, const std::string& doing) override {
    const at::Tensor all = at::zeros({size(), row.numel()}, row.options());
    all.select(0, rank_).copy_(row);
    sum_later(all, doing)->wait();
    return all.unbind(0);
  }
  std::vector<std::string> gather(const std::string& text, const std::string& doing) override {
    constexpr int64_t kLongest = 1 << 16;
    if (std::ssize(text) >= kLongest) throw std::logic_error("FakeGroup: too long a text");
    const at::Tensor own = at::zeros({kLongest}, at::kByte);  // ends with a 0
    std::copy(text.begin(), text.end(), own.mutable_data_ptr<uint8_t>());
    std::vector<std::string> texts;
    for (const at::Tensor& row : gather_rows(own, doing)) {
      texts.emplace_back(reinterpret_cast<const char*>(row.const_data_ptr<uint8_t>()));
    }
    return texts;
  }
  void wait_for(int, const std::string&) override { not_faked(); }
  // Of all members.
  std::unique_ptr<comm::Group> split(int, const std::string& name) override {
    return std::make_unique<FakeGroup>(exchange_->part(name, size()), rank_);
  }
  void tell_failure(const std::string&) const noexcept override {}

 private:
  struct SumTransfer : comm::Transfer {
    SumTransfer(std::shared_ptr<Exchange> among, size_t which, at::Tensor own, std::string what)
        : exchange(std::move(among)),
          index(which),
          tensor(std::move(own)),
          doing(std::move(what)) {}
    void wait() override {
      exchange->wait(doing, [&] { return taken(); });
    }
    bool done() override {
      return exchange->look([&] { return all_there(); });
    }
    bool all_there() const {
      return exchange->sums[index].doing.size() == static_cast<size_t>(exchange->members);
    }
    bool taken() {
      if (!all_there()) return false;
      Exchange::Sum& sum = exchange->sums[index];
      if (!sum.result.defined()) {
        for (const at::Tensor& part : sum.parts) {
          if (part.sizes() != tensor.sizes() || part.scalar_type() != tensor.scalar_type()) {
            throw comm::PeerError(doing + ": the members sum different things");
          }
          sum.result = sum.result.defined() ? sum.result + part.detach() : part.detach().clone();
        }
      }
      tensor.detach().copy_(sum.result);
      return true;
    }
    std::shared_ptr<Exchange> exchange;
    size_t index;
    at::Tensor tensor;
    std::string doing;
  };

  struct SendTransfer : comm::Transfer {
    SendTransfer(std::shared_ptr<Exchange> among, std::shared_ptr<Exchange::Message> own,
                 std::string what)
        : exchange(std::move(among)), message(std::move(own)), doing(std::move(what)) {}
    ~SendTransfer() override {
      exchange->change([&] {
        message->held = false;
        if (!message->received) std::erase(exchange->messages, message);
      });
    }
    void wait() override {
      exchange->wait(doing, [&] { return message->received; });
    }
    bool done() override {
      return exchange->look([&] { return message->received; });
    }
    std::shared_ptr<Exchange> exchange;
    std::shared_ptr<Exchange::Message> message;
    std::string doing;
  };

  struct ReceiveTransfer : comm::Transfer {
    ReceiveTransfer(std::shared_ptr<Exchange> among, std::tuple<int, int, int> line,
                    at::Tensor target, std::string what)
        : exchange(std::move(among)),
          key(line),
          tensor(std::move(target)),
          doing(std::move(what)) {}
    void wait() override {
      if (arrived) return;
      exchange->wait(doing, [&] { return waiting_message() != nullptr; });
      exchange->change([&] {
        Exchange::Message& message = *waiting_message();
        if (message.tensor.numel() != tensor.numel() ||
            message.tensor.scalar_type() != tensor.scalar_type()) {
          throw comm::PeerError(doing + ": another message than expected");
        }
        comm::put_row(comm::row_of(message.tensor), tensor);
        message.received = true;
      });
      arrived = true;
    }
    bool done() override {
      return arrived || exchange->look([&] { return waiting_message() != nullptr; });
    }
    // The oldest of its line.
    Exchange::Message* waiting_message() const {
      for (const auto& message : exchange->messages) {
        if (!message->received && std::tuple(message->from, message->to, message->tag) == key) {
          return message.get();
        }
      }
      return nullptr;
    }
    std::shared_ptr<Exchange> exchange;
    std::tuple<int, int, int> key;  // from, to, tag
    at::Tensor tensor;
    std::string doing;
    bool arrived = false;
  };

  [[noreturn]] static void not_faked() { throw std::logic_error("FakeGroup cannot do that"); }

  std::shared_ptr<Exchange> exchange_;
  int rank_;
  size_t sums_ = 0;
};

// Every member in a thread of its own. The errors they throw, by rank; "" where there was none.
inline std::vector<std::string> on_threads(Exchange& exchange,
                                           const std::function<void(int)>& body) {
  std::vector<std::string> errors(static_cast<size_t>(exchange.members));
  std::vector<std::thread> threads;
  exchange.enter(exchange.members);
  for (int rank = 0; rank < exchange.members; ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      try {
        body(rank);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
      exchange.leave();
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

inline void expect_no_errors(const std::vector<std::string>& errors) {
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    EXPECT_EQ(errors[rank], "") << "rank " << rank;
  }
}

}  // namespace adagp::testing
