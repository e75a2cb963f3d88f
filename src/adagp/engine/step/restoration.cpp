#include "adagp/engine/step/restoration.h"

#include <exception>
#include <utility>

#include "adagp/base/core/log.h"
#include "adagp/base/core/message.h"
#include "adagp/base/core/text.h"

namespace adagp::step {
namespace {

void tell(const std::string& failure, const std::exception& error) noexcept {
  try {
    core::log_error(core::cat(failure, ": ", core::plain_message(error)));
  } catch (const std::exception&) {  // no memory for the message: the next step says it again
  }
}

}  // namespace

Restoration::Restoration(Session& session, const std::string& what, std::function<void()> work)
    : session_(session), failure_(what + " could not be put back"), work_(std::move(work)) {}

Restoration::~Restoration() {
  try {
    now();
  } catch (const std::exception& error) {
    session_.broken = std::move(failure_);  // needs no memory
    tell(session_.broken, error);
  }
}

void Restoration::now() {
  if (!work_) return;
  work_();
  work_ = nullptr;
}

}  // namespace adagp::step
