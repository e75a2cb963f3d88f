#pragma once
// Work done ahead on threads and handed out in the order it was asked for. No torch here.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "adagp/base/core/error.h"
#include "adagp/base/core/threads.h"

namespace adagp::data {

// Jobs are known by a key. The destructor and clear() drop what has not started; a job that runs is
// finished, and its result dropped.
template <typename Key, typename Result>
class Prefetcher {
 public:
  // Throws Error when so many threads cannot be started.
  explicit Prefetcher(int64_t threads)
      : threads_(core::start_threads(
            threads, [this] { work(); }, [this] { stop(); })) {}
  ~Prefetcher() {
    stop();
    threads_.clear();  // waits for them
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  bool has(const Key& key) {
    const std::lock_guard lock(mutex_);
    return find(key) != jobs_.end();
  }

  void start(const Key& key, std::function<Result()> make) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::make_shared<Job>(Job{key, std::move(make)}));
    }
    changed_.notify_all();
  }

  // Waits for a started job, removes it and returns what it made or throws what it threw.
  Result take(const Key& key) {
    std::unique_lock lock(mutex_);
    const auto at = find(key);
    if (at == jobs_.end()) throw Error("data: a batch is taken that nobody started");
    const std::shared_ptr<Job> job = *at;
    changed_.wait(lock, [&] { return job->done; });
    std::erase(jobs_, job);
    if (job->failure) std::rethrow_exception(job->failure);
    return std::move(*job->result);
  }

  void drop(const Key& key) {
    const std::lock_guard lock(mutex_);
    if (const auto at = find(key); at != jobs_.end()) jobs_.erase(at);
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    jobs_.clear();
  }

 private:
  struct Job {
    Key key;
    std::function<Result()> make;
    bool taken = false, done = false;
    std::optional<Result> result = std::nullopt;
    std::exception_ptr failure = nullptr;
  };

  auto find(const Key& key) {
    return std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& j) { return j->key == key; });
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      jobs_.clear();
    }
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      auto waiting = jobs_.end();
      changed_.wait(lock, [&] {
        waiting = std::find_if(jobs_.begin(), jobs_.end(), [](const auto& j) { return !j->taken; });
        return stopping_ || waiting != jobs_.end();
      });
      if (stopping_) return;
      const std::shared_ptr<Job> job = *waiting;  // survives clear()
      job->taken = true;
      lock.unlock();
      try {
        job->result = job->make();
      } catch (...) {
        job->failure = std::current_exception();
      }
      lock.lock();
      job->done = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;  // last: they use the rest
};

}  // namespace adagp::data
