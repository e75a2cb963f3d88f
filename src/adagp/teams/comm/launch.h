#pragma once
// --parallel local=N: N processes of this program on this machine, without a launcher.

#include <string>
#include <vector>

namespace adagp::comm {

// Runs `arguments` (the whole command line, program first) N times with the environment a launcher
// would set; the store is a file in memory, without a name, which these processes alone inherit.
// The cores are shared out (OMP_NUM_THREADS) unless that variable is set. When one fails the others
// get `grace` seconds to stop by themselves and are then killed. Passes SIGINT and SIGTERM on:
// after the first, those who do next to nothing for `grace` seconds are killed; the second is taken
// for the first (core/interrupt.h); after the third, all that are left a second later are killed;
// the fourth ends this process at once. Only the first process keeps its standard output; lines of
// the others' standard error carry their rank. Returns the exit code of the first that failed (1
// for one killed, 128 + signal after a signal; another code is preferred to 1, which may mean that
// a peer failed), or 0. Children end with this process.
int launch_local(const std::vector<std::string>& arguments, int processes, double grace);

}  // namespace adagp::comm
