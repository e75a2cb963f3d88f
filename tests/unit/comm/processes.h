#pragma once
// Processes of comm_member with what they print.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "unit/patience.h"
#include "unit/temp_folder.h"

namespace adagp::testing {

class Process {
 public:
  using Variables = std::map<std::string, std::string>;

  Process(const std::vector<std::string>& arguments, const Variables& variables) {
    std::vector<std::string> words{ADAGP_MEMBER};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> settings;  // the first of a name counts
    for (const auto& [name, value] : variables) settings.push_back(name + "=" + value);
    for (char** entry = environ; *entry != nullptr; ++entry) settings.emplace_back(*entry);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int stream : {1, 2}) {
      posix_spawn_file_actions_addopen(&actions, stream, file(stream).c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    if (posix_spawn(&pid_, ADAGP_MEMBER, &actions, nullptr, pointers(words).data(),
                    pointers(settings).data()) != 0) {
      ADD_FAILURE() << ADAGP_MEMBER << " cannot be started";
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  }
  // Exit code, or 128 + signal; -1 when it does not end.
  int wait() {
    int status = 0;
    if (!becomes_true([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string out() const { return read(1); }
  std::string errors() const { return read(2); }
  // Waits until standard output or error (1, 2) holds `text`.
  bool says(int stream, const std::string& text) const {
    return becomes_true([&] { return read(stream).find(text) != std::string::npos; });
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (auto& word : words) all.push_back(word.data());
    all.push_back(nullptr);
    return all;
  }
  std::string file(int stream) const { return (folder_.path() / std::to_string(stream)).string(); }
  std::string read(int stream) const {
    std::ifstream in(file(stream));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TempFolder folder_;
  pid_t pid_ = -1;
};

}  // namespace adagp::testing
