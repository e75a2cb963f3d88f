#pragma once
// What a process of its own is needed for: signals and limits that would end the test.

#include <sys/wait.h>
#include <unistd.h>

namespace adagp::testing {

// The exit status of a child that runs `body`; a signal that ended it comes back as -number.
template <typename Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace adagp::testing
