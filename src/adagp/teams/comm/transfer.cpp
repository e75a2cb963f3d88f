#include "adagp/teams/comm/transfer.h"

#include <thread>

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::comm {

PeerError Attempt::failed(const std::string& reason, Clock::time_point begin, int with) const {
  const std::chrono::duration<double> waited = Clock::now() - begin;
  PeerError error = peers->error(doing, reason, waited.count(), with);
  // Else the way out would wait for the kernels, too: in destructors, and where memory is freed.
  if (gpu_backends) gpu_backends->abort_all();
  return error;
}

void Attempt::until(const std::function<bool()>& done) const {
  const auto begin = Clock::now();
  auto looked = begin;
  run([&] {
    while (!done()) {
      const auto now = Clock::now();
      if (now - begin > peers->timeout()) {
        throw failed("the GPU still waits for another process", begin, peer);
      }
      if (now - looked > Peers::kLookPeriod) {
        const auto absent = peers->first_at_fault();
        if (absent && !done()) throw failed("it will not come", begin, *absent);
        looked = Clock::now();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
}

void Attempt::finish(c10d::Work& work, std::chrono::milliseconds limit) const {
  run([&] {
    if (gpu_backends) {
      // NCCL's own wait ends one backend when it fails, which may wait for the kernels of another.
      until([&] { return work.isCompleted(); });
      if (const auto error = work.exception()) std::rethrow_exception(error);
    }
    work.wait(limit);
  });
}

// Gloo's messages remember the timeout of connecting, which is a shorter one.
std::chrono::milliseconds WorkTransfer::limit() const {
  return tells_ ? kNoTimeout : attempt_.peers->timeout();
}

WorkTransfer::~WorkTransfer() {
  if (!waiting_.valid() || work_ == nullptr) return;
  try {
    work_->abort();
  } catch (const std::exception& error) {  // not every backend can
    core::log_warning(core::cat(attempt_.doing, ": was not broken off: ", reason_of(error)));
  }
}

void WorkTransfer::wait() {
  if (work_ == nullptr) return;
  if (waiting_.valid()) {
    attempt_.run([&] { waiting_.get(); });
  } else {
    attempt_.finish(*work_, limit());
  }
  work_ = nullptr;
  wire_.arrive();
}

void MeanTransfer::wait() {
  sum_->wait();
  if (members_ > 1) tensor_.div_(members_);
  members_ = 1;
}

bool WorkTransfer::done() {
  if (work_ == nullptr) return true;
  if (tells_) return attempt_.run([&] { return work_->isCompleted(); });
  if (!waiting_.valid()) {
    waiting_ = std::async(std::launch::async, [work = work_, most = limit()] { work->wait(most); });
  }
  return waiting_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace adagp::comm
