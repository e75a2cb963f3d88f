#include "adagp/teams/comm/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/log.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/child.h"
#include "adagp/teams/comm/process_state.h"
#include "adagp/teams/comm/store_place.h"

namespace adagp::comm {
namespace {

using Clock = std::chrono::steady_clock;

// Signals come out of a pipe, so that one poll() waits for them and for the children's output.
int g_signal_pipe[2] = {-1, -1};
// SIGINT, SIGTERM and SIGUSR1 so far.
std::atomic<int> g_asked_to_end{0};
// This one ends the children at once; one more ends this process whatever it is doing, and the
// kernel then ends the children.
constexpr int kAtOnceSignal = core::kSignalsOfOneStop + 1;

void on_signal(int signal) {
  const int saved = errno;
  if (signal != SIGCHLD) {
    const int count = ++g_asked_to_end;
    if (count > kAtOnceSignal) _exit(128 + signal);
    if (count > 1 && count < kAtOnceSignal) return;
  }
  const auto byte = static_cast<unsigned char>(signal);
  [[maybe_unused]] const auto written = write(g_signal_pipe[1], &byte, 1);
  errno = saved;
}

class Signals {
 public:
  Signals() {
    if (pipe2(g_signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw Error(core::cat("parallel: no pipe for signals: ", std::strerror(errno)));
    }
    g_asked_to_end = 0;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    close(g_signal_pipe[0]);
    close(g_signal_pipe[1]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return g_signal_pipe[0]; }
  std::optional<int> next() {
    unsigned char byte = 0;
    return read(g_signal_pipe[0], &byte, 1) == 1 ? std::optional<int>(byte) : std::nullopt;
  }

 private:
  static constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGUSR1, SIGCHLD};
  std::array<struct sigaction, 4> before_{};
};

class Family {
 public:
  Family(const std::vector<std::string>& arguments, int processes, double grace)
      : grace_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(grace))) {
    try {
      for (int rank = 0; rank < processes; ++rank) {
        children_.push_back(start_child(arguments, rank, processes, store_.path()));
      }
    } catch (...) {
      send(SIGKILL);
      while (alive()) reap(0);
      throw;
    }
  }

  int run() {
    while (alive()) {
      wait_for_news();
      while (const auto signal = signals_.next()) {
        if (*signal != SIGCHLD) pass_on(*signal);
      }
      for (auto& child : children_) forward_errors(child);
      reap(WNOHANG);
      if (deadline_ && Clock::now() >= *deadline_ && alive()) at_deadline();
    }
    for (auto& child : children_) forward_errors(child);
    return code_;
  }

 private:
  bool alive() const {
    return std::any_of(children_.begin(), children_.end(),
                       [](auto& child) { return child.pid > 0; });
  }
  void send(int signal) {
    for (const auto& child : children_) {
      if (child.pid > 0) kill(child.pid, signal);
    }
  }

  void pass_on(int signal) {
    send(signal);
    send(SIGCONT);  // a stopped process would never see it
    // The first asks them to save what they have; the next ends those who do not hear it.
    at_once_ = passed_ != 0;
    set_deadline(at_once_ ? kAtOnce : grace_);
    passed_ = signal;
  }

  void set_deadline(Clock::duration time) {
    deadline_ = Clock::now() + time;
    processor_time_ = processor_time();
    watched_ = time;
  }

  // Of those who are left.
  double processor_time() const {
    double used = 0;
    for (const auto& child : children_) {
      if (child.pid > 0) used += process_state(child.pid).processor_time;
    }
    return used;
  }

  // After one signal, processes that compute, or wait for a processor on a busy machine, are on
  // their way to the end of a batch or of an evaluation, and to a checkpoint. Others are stuck.
  void at_deadline() {
    const double share =
        (processor_time() - processor_time_) / std::chrono::duration<double>(watched_).count();
    const bool computing =
        share > kBusy || std::any_of(children_.begin(), children_.end(), [](auto& child) {
          return child.pid > 0 && process_state(child.pid).state == 'R';
        });
    if (code_ == 0 && !at_once_ && computing) return set_deadline(grace_);
    give_up();
  }

  void wait_for_news() {
    std::vector<pollfd> files{{signals_.descriptor(), POLLIN, 0}};
    for (const auto& child : children_) {
      if (child.errors >= 0) files.push_back({child.errors, POLLIN, 0});
    }
    int limit = -1;
    if (deadline_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
      limit = static_cast<int>(std::max<int64_t>(0, left.count()));
    }
    poll(files.data(), files.size(), limit);
  }

  void reap(int options) {
    for (auto& child : children_) {
      int status = 0;
      if (child.pid <= 0 || waitpid(child.pid, &status, options) != child.pid) continue;
      child.pid = -1;
      const int code = code_of(child, status);
      if (code == 0) {
        if (deadline_ && code_ == 0 && !at_once_) set_deadline(grace_);  // of those who are left
        continue;
      }
      if (code_ == 0 && !at_once_) set_deadline(grace_);
      // 1 often means "another one failed", and that one may end a moment later.
      if (code_ == 0 || code_ == 1) code_ = code;
    }
  }

  int code_of(const Child& child, int status) const {
    if (WIFEXITED(status)) {
      if (WEXITSTATUS(status) == 127) {
        core::log_error(core::cat("process of rank ", child.rank, " could not be started"));
        return 1;
      }
      return WEXITSTATUS(status);
    }
    const int signal = WTERMSIG(status);
    if (passed_ != 0 && (killed_ || signal == SIGINT || signal == SIGTERM)) return 128 + passed_;
    if (!killed_) {
      core::log_error(core::cat("process of rank ", child.rank, " was killed by signal ", signal,
                                " (", strsignal(signal), ")"));
    }
    return 1;
  }

  void give_up() {
    std::vector<std::string> ranks;
    for (const auto& child : children_) {
      if (child.pid > 0) ranks.push_back(std::to_string(child.rank));
    }
    const double seconds = std::chrono::duration<double>(watched_).count();
    core::log_error(core::cat("after ", passed_ == 0 ? "the first failure" : strsignal(passed_),
                              " rank ", core::join(ranks, ", "), " did not stop within ",
                              core::shortest(seconds), " s: killed"));
    killed_ = true;
    deadline_.reset();
    send(SIGKILL);
  }

  static constexpr Clock::duration kAtOnce = std::chrono::seconds(1);
  static constexpr double kBusy = 0.1;  // of one processor

  Signals signals_;
  StoreFile store_;
  Clock::duration grace_;
  std::vector<Child> children_;
  // For those left after the first failure or a signal: when, how long that is, and what they had
  // computed by then.
  std::optional<Clock::time_point> deadline_;
  Clock::duration watched_{};
  double processor_time_ = 0;
  int code_ = 0;
  int passed_ = 0;  // the last signal that was passed on
  bool at_once_ = false, killed_ = false;
};

}  // namespace

int launch_local(const std::vector<std::string>& arguments, int processes, double grace) {
  if (processes < 1 || arguments.empty()) {
    throw UsageError(core::cat("parallel: ", processes, " processes cannot be started"));
  }
  return Family(arguments, processes, grace).run();
}

}  // namespace adagp::comm
