#pragma once
// The op lists piece by piece, so that long sequences need no memory.

#include "adagp/sim/pipeline/schedules.h"

namespace adagp::pipeline {

class Stream {
 public:
  Stream(const Placement& placement, bool overlap);

  // What the devices do next, up to where the batch after this one may begin: all ops of a BP
  // batch; of a GP batch of a schedule with `place` some may be left for later. Batches count from
  // 0.
  const std::vector<OpList>& next(Phase phase);
  const std::vector<OpList>& finish();  // what is left at the end of the sequence
  void skip(int32_t batches);           // as if so many more batches had gone before

 private:
  struct Placed {
    int64_t place = 0;
    OpList ops;  // a compute op and what belongs around it
  };
  void place_batch(int device, Phase phase);
  void release(int device, int64_t before);  // moves what waits to the device's list

  Placement placement_;
  const Schedule* schedule_;
  bool overlap_;
  int32_t batch_ = 0;
  int64_t start_ = 0;                         // place at which the next batch begins
  std::vector<std::vector<Placed>> waiting_;  // per device, by place
  std::vector<OpList> lists_;                 // of the last call, per device
  std::vector<OpList> kept_[2];               // of one batch, by phase
};

}  // namespace adagp::pipeline
