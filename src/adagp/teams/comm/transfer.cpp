#include "adagp/teams/comm/transfer.h"

#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"

namespace adagp::comm {

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
  attempt_.run([&] {
    if (waiting_.valid()) {
      waiting_.get();
    } else {
      work_->wait(limit());
    }
  });
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
  if (tells_) return work_->isCompleted();
  if (!waiting_.valid()) {
    waiting_ = std::async(std::launch::async, [work = work_, most = limit()] { work->wait(most); });
  }
  return waiting_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace adagp::comm
