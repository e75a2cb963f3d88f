#include <array>

#include "adagp/accel/memory.h"
#include "adagp/core/lookup.h"
#include "adagp/machine/machine.h"

namespace adagp::machine {

std::span<const Machine* const> machines() {
  static const std::array<const Machine*, 5> kMachines = {&kTensorDash, &kFast, &kProcrustes,
                                                          &kCamel, &kInPlace};
  return kMachines;
}

const Machine& find_machine(const std::string& name) {
  return *core::find_named(machines(), name, "machine", " is unknown");
}

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
  out.energy = accel::transfer_energy(memory.dram_reads, memory.dram_writes, accelerator);
  // Operands that pass DRAM do so in their own format; results are counted by their own share.
  const double operands = (shares.left + shares.right) / 2;
  const auto words = static_cast<double>(memory.dram_reads + memory.dram_writes);
  if (words > 0) {
    const double share = (operands * static_cast<double>(memory.dram_reads) +
                          shares.output * static_cast<double>(memory.dram_writes)) /
                         words;
    out.energy = out.energy * share;
  }
  const accel::SramWords& sram = cost.sram;
  const double reads = shares.left * static_cast<double>(sram.ifmap) +
                       shares.right * static_cast<double>(sram.filter) +
                       shares.output * static_cast<double>(sram.sums);
  const double writes = shares.output * static_cast<double>(sram.ofmap);
  out.energy.buffer += (reads * table.buffer_read_pj + writes * table.buffer_write_pj) * 1e-12;
  out.energy.mac = mac_joules;
  return out;
}

}  // namespace adagp::machine
