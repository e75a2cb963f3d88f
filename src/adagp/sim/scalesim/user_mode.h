#pragma once
// Mode USER: the interfaces to DRAM have the bandwidths of the configuration, and the array waits.
//
// Operands that fit into half their buffer are there before the computation, and results wait for
// the write buffer alone: SCALE-Sim's model, number by number.
// Of an operand that does not fit SCALE-Sim's numbers contradict themselves: its window on the
// operand only moves forward, so that a word that has just left it costs a walk around the whole
// (1,440 weights that are needed once each are read as 7,168 words from a buffer of 1 kB), a walk
// moves half a buffer however little is left, and a wait is added twice. There we estimate: half a
// buffer before the computation, the rest beside it, each operand once per time the array asks for
// the whole of it.

#include "adagp/sim/scalesim/reports.h"
#include "adagp/sim/scalesim/write_buffer.h"

namespace adagp::scalesim {

// Fills in DRAM traffic, stalls and everything they change. `out` has the compute cycles in
// total_cycles, and SRAM words and times without stalls.
void user_times(const Config& config, const accel::Gemm& gemm, const Folding& folding,
                LayerReport& out);

}  // namespace adagp::scalesim
