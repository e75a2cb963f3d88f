#pragma once
// A process of this program, started for a rank of its own. No torch here.

#include <sys/types.h>

#include <string>
#include <vector>

namespace adagp::comm {

struct Child {
  int rank = 0;
  pid_t pid = -1;    // -1: ended
  int errors = -1;   // its standard error; -1: ours, or closed
  std::string line;  // of it, begun
};

// Starts `arguments` (program first) as rank `rank` of `processes`, which find each other through
// the file `store`. Standard output and a plain standard error are rank 0's alone.
Child start_child(const std::vector<std::string>& arguments, int rank, int processes,
                  const std::string& store);

// Passes on what has come of a child's standard error, each line with its rank.
void forward_errors(Child& child);

}  // namespace adagp::comm
