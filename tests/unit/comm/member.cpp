// A process of a group for group_test.cpp and launch_test.cpp:
//
//   comm_member VICTIM FAULT   joins, sums batch after batch; VICTIM does FAULT in the fourth
//   comm_member launch N ...   starts itself N times with these arguments
//
// Its error goes to standard error, its exit code is the error's.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "adagp/base/core/error.h"
#include "adagp/base/core/interrupt.h"
#include "adagp/base/core/text.h"
#include "adagp/teams/comm/group.h"
#include "adagp/teams/comm/launch.h"
#include "adagp/teams/comm/library_settings.h"

namespace adagp::comm {
namespace {

constexpr int kFaultyBatch = 3;

void sleep_long() {
  std::this_thread::sleep_for(std::chrono::minutes(20));
}

void commit_fault(const std::string& fault) {
  if (fault == "kill") raise(SIGKILL);
  if (fault == "stop") raise(SIGSTOP);
  if (fault == "hang") sleep_long();
  if (fault == "leave") std::_Exit(0);
  if (fault == "diverge") throw DivergedError("loss is nan in batch 3");
}

// Ring: every process sends to the next and waits for the one before.
void ring_batch(Group& group, int batch) {
  const int next = (group.rank() + 1) % group.size();
  const int before = (group.rank() + group.size() - 1) % group.size();
  auto sent = group.send(at::ones({3}), next, 0, core::cat("sending batch ", batch));
  at::Tensor got = at::zeros({3});
  group.receive(got, before, 0, core::cat("the activations of batch ", batch))->wait();
  sent->wait();
}

void work(Group& group, int victim, const std::string& fault, const std::string& how) {
  for (int batch = 0; batch < 6; ++batch) {
    if (group.rank() == victim && batch == kFaultyBatch) commit_fault(fault);
    if (how == "ring") {
      ring_batch(group, batch);
    } else {
      std::vector<at::Tensor> gradients{at::ones({1000})};
      group.sum(gradients, core::cat("the gradients of batch ", batch));
    }
  }
}

int join_and_work(const std::string& victim, const std::string& fault, const std::string& how) {
  GroupOptions options;
  if (const char* timeout = std::getenv("MEMBER_TIMEOUT")) {
    options.timeout = std::chrono::milliseconds(std::atoi(timeout));
  }
  auto group = join(rank_from_environment(), options, at::kCPU);
  try {
    work(*group, std::atoi(victim.c_str()), fault, how);
  } catch (const Error& error) {
    group->tell_failure(error.what());
    throw;
  }
  return 0;
}

// Without a group: rank R ends with the R-th code; "kill", "sleep" and "spin" do that; "wait" waits
// for a signal as a training run does, "stop" stops itself first.
int end_as_told(const std::vector<std::string>& codes) {
  core::catch_signals();
  const int rank = rank_from_environment().rank;
  const std::string& code = codes.at(rank);
  std::fprintf(stdout, "pid %d threads %s\n", getpid(), std::getenv("OMP_NUM_THREADS"));
  std::fflush(stdout);
  std::fprintf(stderr, "says %s", code.c_str());  // a last line without an end
  std::fflush(stderr);
  if (code == "kill") raise(SIGKILL);
  if (code == "sleep") sleep_long();
  if (code == "stop") raise(SIGSTOP);
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(20);
  while (code == "spin" && std::chrono::steady_clock::now() < until) {
  }
  while ((code == "wait" || code == "stop") && std::chrono::steady_clock::now() < until) {
    if (core::pending_signal() != 0) return 128 + core::pending_signal();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::atoi(code.c_str());
}

int run(std::vector<std::string> arguments) {
  if (arguments.at(1) == "launch") {
    const int processes = std::atoi(arguments.at(2).c_str());
    const char* grace = std::getenv("MEMBER_GRACE");
    if (!launched()) return launch_local(arguments, processes, grace ? std::atof(grace) : 1.0);
    arguments.erase(arguments.begin() + 1, arguments.begin() + 3);
  }
  if (arguments.at(1) == "end") return end_as_told({arguments.begin() + 2, arguments.end()});
  arguments.resize(4);
  return join_and_work(arguments[1], arguments[2], arguments[3]);
}

}  // namespace
}  // namespace adagp::comm

int main(int argc, char** argv) {
  adagp::comm::set_library_variables();
  try {
    return adagp::comm::run({argv, argv + argc});
  } catch (const adagp::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
