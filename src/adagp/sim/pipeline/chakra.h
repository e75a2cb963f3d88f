#pragma once
// Execution traces of MLCommons Chakra (schema et_def.proto): what each rank of a pipeline
// computes, sends, receives and adds up with others, and what waits for what. Simulators of
// networks read them.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "adagp/sim/pipeline/simulate.h"

namespace adagp::pipeline {

struct Work {
  Placement placement;
  Costs costs;
  Sequence sequence;
  bool overlap = true;
  std::string unit;  // of times
};

// Copy c of device d is rank c * devices + d.
int64_t chakra_ranks(const Work& work);
// Durations are whole microseconds there. So many stand for a unit of time: a power of ten that
// gives the shortest pass at least 1000, and 1 where it has that many units (cycles).
double micros_per_unit(const Work& work);

using WriteRank = std::function<void(int64_t rank, std::string_view bytes)>;
// The traces of the ranks from `first` to `last` - 1, batch by batch: memory does not grow with the
// number of batches. A collective has all bytes of a stage at once, without buckets.
void write_chakra(const Work& work, int64_t first, int64_t last, const WriteRank& write);

// Who takes part in a collective, by the name of its group; empty without copies and replicas.
std::vector<std::pair<std::string, std::vector<int64_t>>> chakra_groups(const Work& work);

}  // namespace adagp::pipeline
