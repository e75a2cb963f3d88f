#pragma once
// Which of a run's processes this one is. No torch here.

#include <string>

namespace adagp::parallel {

// One process among `world`, as torchrun tells it.
struct Place {
  int rank = 0, world = 1;
  int local_rank = 0;  // on its machine: which GPU
  std::string master;  // host of the store
  int port = 0;
};
// From RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT. Throws UsageError naming what is
// missing or wrong and how such processes are started.
Place place_from_environment();
// Whether RANK is set at all: some launcher started this process.
bool launched();

}  // namespace adagp::parallel
