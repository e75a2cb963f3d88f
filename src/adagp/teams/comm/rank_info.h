#pragma once
// Which of a run's processes this one is. No torch here.

#include <string>

namespace adagp::comm {

// One process among `world`, as torchrun tells it.
struct RankInfo {
  int rank = 0, world = 1;
  int local_rank = 0;  // on its machine: which GPU
  std::string master;  // host of the store
  int port = 0;
  std::string file{};  // of this program's own launcher; empty: the store is at host and port

  std::string store_address() const;  // for messages
};
// From RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; our launcher sets
// ADAGP_STORE_FILE instead of address and port. Throws UsageError naming what is missing or wrong
// and how such processes are started.
RankInfo rank_from_environment();
// Whether RANK is set at all: some launcher started this process.
bool launched();
// Whether this process says what one of them is to say before the run: our launcher, which has said
// it when its processes start, or the first process of another launcher.
bool speaks_for_all();

}  // namespace adagp::comm
