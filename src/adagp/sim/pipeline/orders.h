#pragma once
// The schedules by name, one file each; the table is in schedules.cpp.

#include "adagp/sim/pipeline/schedules.h"

namespace adagp::pipeline {

Schedule gpipe();
Schedule dapple();
Schedule chimera();
Schedule zero_bubble();
Schedule interleaved();
Schedule decoupled();
Schedule zb_v();
Schedule dualpipe_v();
Schedule filled();
Schedule filled_gpipe();

Op compute(Kind kind, int micro, int stage, int replica = 0);
// Forward passes alone, in order: a GP batch of a device with one stage.
OpList forwards(const Placement& placement, int device);

// What schedules share whose stages go down the devices and back up: device d has the stages d and
// 2 * devices - 1 - d.
Schedule v_shaped(const std::string& name);
OpList v_forwards(const Placement& placement, int device);  // a GP batch of a device

// What surrounds compute ops, the same for all schedules.
void add_with_messages(const Placement& placement, const Op& op, OpList& ops);
Op all_reduce(const Placement& placement, int stage, int replica);
// The end of a batch that leaves nothing for later.
void add_batch_end(const Placement& placement, int device, Phase phase, OpList& ops);
void set_batch(Op& op, int32_t batch, Phase phase);
void set_batch(OpList& ops, int32_t batch, Phase phase);

}  // namespace adagp::pipeline
