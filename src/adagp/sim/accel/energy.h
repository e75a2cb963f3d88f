#pragma once
// Energy in joules, by where it goes.
//   mac       MACs * mac_pj                       (idle PEs are gated)
//   registers MACs * (reads * register_read_pj + writes * register_write_pj) by the dataflow
//   array     MACs * hops * hop_pj by the dataflow
//   buffer    (ifmap + filter + sums) * buffer_read_pj + ofmap * buffer_write_pj, plus what DRAM
//             fills and drains: dram reads * buffer_write_pj + dram writes * buffer_read_pj
//   dram      words * 8 * word_bytes * dram_pj_per_bit
//   vector    elements * vector_op_pj (their buffer words are in `buffer`: a read and a write each)
//   leakage   seconds * (PEs * pe_leakage + buffer_leakage + dram_standby)
// The second array of design max works on the same buffer: no word goes from array to array.

#include <cstdint>

#include "adagp/sim/accel/accelerator.h"
#include "adagp/sim/accel/dataflow/dataflow.h"

namespace adagp::accel {

struct Energy {
  double mac = 0, registers = 0, array = 0, buffer = 0, dram = 0, vector = 0, leakage = 0;

  double total() const { return mac + registers + array + buffer + dram + vector + leakage; }
  double memory() const { return buffer + dram; }  // the accesses of the paper's Fig. 21
  Energy& operator+=(const Energy& other);
  Energy operator*(double factor) const;
};

Energy product_energy(const Work& work, const ArrayCost& cost, int64_t dram_reads,
                      int64_t dram_writes, const Dataflow& dataflow,
                      const Accelerator& accelerator);
Energy vector_energy(int64_t elements, const Accelerator& accelerator);
// Words between DRAM and buffer: one that comes in is written to the buffer, one that goes out is
// read from it. A value may take a part of a word. What the array or a vector pass then does with
// it is counted there.
Energy transfer_energy(double dram_reads, double dram_writes, const Accelerator& accelerator);
// Static energy of `cycles` with `pes` PEs powered.
Energy leakage_energy(int64_t cycles, int64_t pes, const Accelerator& accelerator);

// Energy of an SRAM access by the size of the SRAM.

inline constexpr int64_t kSmallestBuffer = 512, kLargestBuffer = 2097152;  // bytes, of the table

// Sets the buffer's size and, for it, the energy of its accesses and its leakage: CACTI 7.0, 45 nm,
// 64-bit port, between its sizes by straight lines over the logarithms. Throws UsageError for a
// size outside of the table.
void set_buffer(Accelerator& accelerator, int64_t bytes);

}  // namespace adagp::accel
