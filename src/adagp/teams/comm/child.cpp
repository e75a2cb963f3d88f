#include "adagp/teams/comm/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/base/core/threads.h"
#include "adagp/teams/comm/store_place.h"

namespace adagp::comm {
namespace {

[[noreturn]] void cannot_start(int rank, const char* what) {
  throw Error(core::cat("parallel: the process of rank ", rank, " cannot be started: ", what, ": ",
                        std::strerror(errno)));
}

// The environment of this process with some variables replaced (value null: removed).
class Environment {
 public:
  Environment() {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      entries_.emplace_back(*entry);
    }
  }
  void set(const std::string& name, const std::optional<std::string>& value) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.starts_with(name + "="); });
    if (value) entries_.push_back(name + "=" + *value);
  }
  std::vector<char*> pointers() {
    std::vector<char*> all;
    for (auto& entry : entries_) all.push_back(entry.data());
    all.push_back(nullptr);
    return all;
  }

 private:
  std::vector<std::string> entries_;
};

Environment environment_of(int rank, int processes, const std::string& store) {
  const int64_t cores = core::hardware_threads();
  Environment environment;
  for (const char* name : {"RANK", "LOCAL_RANK"}) environment.set(name, std::to_string(rank));
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) {
    environment.set(name, std::to_string(processes));
  }
  environment.set("ADAGP_STORE_FILE", store);
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE",
                           "TORCHELASTIC_RESTART_COUNT"}) {
    environment.set(name, std::nullopt);
  }
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    environment.set("OMP_NUM_THREADS", std::to_string(std::max<int64_t>(1, cores / processes)));
  }
  return environment;
}

// What the child does between fork and exec: system calls alone, other threads' locks may be held.
[[noreturn]] void become(int rank, pid_t parent, int errors, char* const* arguments,
                         char* const* environment) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The launcher's handlers would tell the launcher of this process's signals.
  for (const int number : {SIGINT, SIGTERM, SIGCHLD}) signal(number, SIG_DFL);
  if (getppid() != parent) _exit(1);
  // A terminal's Ctrl-C comes to us, and through us once to each.
  setpgid(0, 0);
  if (rank > 0) {
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
  }
  execve("/proc/self/exe", arguments, environment);
  _exit(127);
}

void write_line(const Child& child, const std::string& line) {
  const std::string text = core::cat("[rank ", child.rank, "] ", line, "\n");
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Child start_child(const std::vector<std::string>& arguments, int rank, int processes,
                  const std::string& store) {
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Environment environment = environment_of(rank, processes, store);
  const auto variables = environment.pointers();
  int ends[2] = {-1, -1};
  if (rank > 0 && pipe2(ends, O_CLOEXEC) != 0) cannot_start(rank, "pipe");
  Descriptor from_child(ends[0]), to_parent(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) cannot_start(rank, "fork");
  if (pid == 0) become(rank, parent, to_parent.get(), pointers.data(), variables.data());
  if (rank > 0) fcntl(from_child.get(), F_SETFL, O_NONBLOCK);
  return {rank, pid, from_child.release(), ""};
}

void forward_errors(Child& child) {
  std::array<char, 4096> block{};
  ssize_t got = 0;
  while (child.errors >= 0 && (got = read(child.errors, block.data(), block.size())) > 0) {
    child.line.append(block.data(), static_cast<size_t>(got));
    for (size_t end = 0; (end = child.line.find('\n')) != std::string::npos;) {
      write_line(child, child.line.substr(0, end));
      child.line.erase(0, end + 1);
    }
  }
  if (child.errors >= 0 && (got == 0 || child.pid < 0)) {
    if (!child.line.empty()) write_line(child, child.line);
    child.line.clear();
    close(child.errors);
    child.errors = -1;
  }
}

}  // namespace adagp::comm
