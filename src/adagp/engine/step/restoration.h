#pragma once
// Putting back what somebody has changed in a session for a while.

#include <functional>
#include <string>

#include "adagp/engine/step/session.h"

namespace adagp::step {

// The work may fail, as for memory or a lost device, and a destructor must not throw. So call now()
// where all went well. The destructor is for exceptions on the way: it tries the work, and when
// that fails, it says so and the session refuses all steps to come (Session::broken).
class Restoration {
 public:
  // `what` is put back, for messages. `work` may be called again after it failed.
  Restoration(Session& session, const std::string& what, std::function<void()> work);
  ~Restoration();
  Restoration(const Restoration&) = delete;
  Restoration& operator=(const Restoration&) = delete;

  void now();

 private:
  Session& session_;
  std::string failure_;
  std::function<void()> work_;  // empty: done
};

}  // namespace adagp::step
