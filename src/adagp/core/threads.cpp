#include "adagp/core/threads.h"

#include <new>
#include <string>
#include <system_error>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::core {

std::vector<std::jthread> start_threads(int64_t count, const std::function<void()>& body,
                                        const std::function<void()>& stop) {
  std::vector<std::jthread> threads;
  std::string why;
  try {
    while (static_cast<int64_t>(threads.size()) < count) threads.emplace_back(body);
    return threads;
  } catch (const std::system_error& error) {
    why = error.code().message();
  } catch (const std::bad_alloc&) {
    why = "no memory is left";
  }
  stop();
  for (auto& thread : threads) thread.join();
  throw Error(cat("thread ", threads.size() + 1, " of ", count, " cannot be started: ", why,
                  "; ask for fewer threads (augment.workers, threads), or raise the system's limit "
                  "(ulimit -u, ulimit -v)"));
}

}  // namespace adagp::core
