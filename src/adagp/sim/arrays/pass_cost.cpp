#include "adagp/sim/arrays/pass_cost.h"

#include "adagp/sim/accel/memory.h"

namespace adagp::arrays {

accel::PassCost pass_cost(const accel::Work& work, const accel::ArrayCost& cost,
                          const accel::Accelerator& accelerator, double mac_joules,
                          const WordShares& shares) {
  const accel::MemoryCost memory = accel::memory_cost(work, cost, accelerator);
  const accel::EnergyTable& table = accelerator.energy;
  accel::PassCost out;
  out.array = cost.cycles;
  out.stall = memory.stall_cycles;
  out.macs = cost.macs;
  out.sram = cost.sram;
  out.dram_reads = memory.dram_reads;
  out.dram_writes = memory.dram_writes;
  // Each operand passes DRAM in its own format, results and partial sums in theirs.
  const double dram_reads = shares.left * static_cast<double>(memory.input_reads) +
                            shares.right * static_cast<double>(memory.filter_reads) +
                            shares.output * static_cast<double>(memory.sum_reads);
  const double dram_writes = shares.output * static_cast<double>(memory.dram_writes);
  out.energy = accel::transfer_energy(dram_reads, dram_writes, accelerator);
  const accel::SramWords& sram = cost.sram;
  const double reads = shares.left * static_cast<double>(sram.ifmap) +
                       shares.right * static_cast<double>(sram.filter) +
                       shares.output * static_cast<double>(sram.sums);
  const double writes = shares.output * static_cast<double>(sram.ofmap);
  out.energy.buffer += (reads * table.buffer_read_pj + writes * table.buffer_write_pj) * 1e-12;
  out.energy.mac = mac_joules;
  return out;
}

}  // namespace adagp::arrays
