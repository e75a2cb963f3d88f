#pragma once
// --parallel local=N: N processes of this program on this machine, without a launcher.

#include <string>
#include <vector>

namespace adagp::parallel {

// Runs `arguments` (the whole command line, program first) N times with the environment a launcher
// would set; the store is in this process, on a free port of the loopback interface. The cores are
// shared out (OMP_NUM_THREADS) unless that variable is set. Passes SIGINT and SIGTERM on; when one
// fails the others get `grace` seconds to stop by themselves and are then killed. Only the first
// process keeps its standard output; lines of the others' standard error carry their rank. Returns
// the exit code of the first that failed (1 for one killed; another code is preferred to 1, which
// may mean that a peer failed), or 0. Children end with this process.
int launch_local(const std::vector<std::string>& arguments, int processes, double grace);

}  // namespace adagp::parallel
