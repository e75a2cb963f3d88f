#pragma once
// The op lists piece by piece, so that long sequences need no memory.

#include <optional>

#include "adagp/sim/pipeline/schedules.h"

namespace adagp::pipeline {

class Stream {
 public:
  Stream(const Placement& placement, bool overlap);

  // What the devices do next, up to where the batch after this one may begin: all ops of a BP
  // batch; of a GP batch some may be left for later (of a schedule with `place`), or all until the
  // next batch is known (with `pair`). Batches count from 0.
  const std::vector<OpList>& next(Phase phase);
  const std::vector<OpList>& finish();  // what is left at the end of the sequence
  void skip(int32_t batches);           // as if so many more batches had gone before

 private:
  struct Placed {
    int64_t place = 0;
    OpList ops;  // a compute op and what belongs around it
  };
  const std::vector<OpList>& whole_batch(Phase phase, int32_t batch);
  // A GP or low-resolution batch of that number and the BP batch after it.
  const std::vector<OpList>& pair(Phase cheap, int32_t batch);
  const std::vector<OpList>& next_or_pair(Phase phase);
  void place_batch(int device, Phase phase);
  void add_updates(const OpList& order, size_t first, std::vector<Placed>& placed) const;
  const std::vector<OpList>& nothing();
  void release(int device, int64_t before);  // moves what waits to the device's list

  Placement placement_;
  const Schedule* schedule_;
  bool overlap_;
  bool pairs_;
  std::optional<Phase> held_;  // a GP or low-resolution batch, until the next batch is known
  int32_t batch_ = 0;
  int64_t start_ = 0;                         // place at which the next batch begins
  std::vector<std::vector<Placed>> waiting_;  // per device, by place
  std::vector<OpList> lists_;                 // of the last call, per device
  std::vector<OpList> kept_[3];               // of one batch, by phase
  std::vector<OpList> kept_pair_[3];          // with batches 0 and 1, by the first one's phase
  std::vector<OpList> pair_;                  // with those of the last call
};

}  // namespace adagp::pipeline
