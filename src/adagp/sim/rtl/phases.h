#pragma once
// Which phase each batch of a run has, and the hardware's table that says so. Torch-free.

#include <cstdint>
#include <string>
#include <vector>

#include "adagp/base/schedule/schedule.h"
#include "adagp/sim/rtl/machine.h"

namespace adagp::rtl {

// A row of the hardware's table: for `epochs` (0: until the end), k GP and m BP batches in turn.
struct Stretch {
  std::uint32_t epochs = 0, k = 0, m = 1;
  bool warm = false;
  bool operator==(const Stretch&) const = default;
};

// A run. Every epoch begins a cycle anew, with its GP batches (base/schedule). Batches before the
// first stretch with GP batches are warm-up. The baseline treats every batch as BP.
struct Schedule {
  schedule::Schedule stretches = schedule::Schedule::parse("1:1", 1);
  std::int64_t epochs = 1;
  std::int64_t epoch_batches = 1;
  bool warm_up = true;  // false: a run begins with BP, as for a single batch

  std::int64_t batches() const { return epochs * epoch_batches; }
  // Throws UsageError, with the limit, for a run of no batch or of more than 2^32 - 1, and for
  // stretches that the table cannot hold.
  void check() const;
  Phase at(const Machine& machine, std::int64_t batch) const;
  // Number of batches of this phase in the whole run.
  std::uint64_t count(const Machine& machine, Phase phase) const;
  // What the host writes into the hardware. The last row lasts until the end.
  std::vector<Stretch> table() const;

 private:
  std::int64_t warm_epochs() const { return warm_up ? stretches.warm_up_epochs(epochs) : 0; }
};

// `text` as in base/schedule. Throws UsageError naming the offending part.
Schedule schedule_of(const std::string& text, std::int64_t epochs, std::int64_t epoch_batches);
// One batch of this phase.
Schedule one_batch(Phase phase);

// The bits of a row: epochs, k, m, warm, least significant first.
std::uint64_t encode(const Stretch& stretch);

}  // namespace adagp::rtl
