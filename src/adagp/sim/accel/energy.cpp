#include "adagp/sim/accel/energy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::accel {
namespace {

constexpr double kPico = 1e-12;
constexpr double kMilli = 1e-3;
constexpr double kHertzPerMhz = 1e6;

double dram_joules(double words, const Accelerator& a) {
  return words * 8.0 * static_cast<double>(a.word_bytes) * a.energy.dram_pj_per_bit * kPico;
}

struct Sram {
  double bytes, read_pj, write_pj, leakage_mw;  // of an access of 16 bits
};
// Rows of tests/golden/cacti_45nm.csv: accelergy_lstp_300K, 45 nm, 64 bits.
constexpr Sram kSrams[] = {{512, 0.3534, 0.5702, 1.89185e-05}, {8192, 1.534, 1.97, 0.000256785},
                           {65536, 6.467, 4.912, 0.00167027},  {110592, 7.362, 6.039, 0.00283024},
                           {131072, 8.071, 6.516, 0.00334055}, {524288, 17.09, 12.84, 0.012496},
                           {1048576, 23.38, 19.05, 0.0249626}, {2097152, 31.88, 27.55, 0.0499251}};
constexpr double kTableWordBytes = 2;

}  // namespace

Energy& Energy::operator+=(const Energy& other) {
  mac += other.mac;
  registers += other.registers;
  array += other.array;
  buffer += other.buffer;
  dram += other.dram;
  vector += other.vector;
  leakage += other.leakage;
  return *this;
}

Energy Energy::operator*(double factor) const {
  return {mac * factor,  registers * factor, array * factor,  buffer * factor,
          dram * factor, vector * factor,    leakage * factor};
}

Energy product_energy(const Work& work, const ArrayCost& cost, int64_t dram_reads,
                      int64_t dram_writes, const Dataflow& dataflow,
                      const Accelerator& accelerator) {
  const EnergyTable& table = accelerator.energy;
  const MacAccesses per_mac = dataflow.per_mac(work);
  const auto macs = static_cast<double>(cost.macs) * kPico;
  const auto reads = static_cast<double>(cost.sram.ifmap) + static_cast<double>(cost.sram.filter) +
                     static_cast<double>(cost.sram.sums);
  const auto writes = static_cast<double>(cost.sram.ofmap);
  Energy out = transfer_energy(static_cast<double>(dram_reads), static_cast<double>(dram_writes),
                               accelerator);
  out.mac = macs * table.mac_pj;
  out.registers = macs * (per_mac.register_reads * table.register_read_pj +
                          per_mac.register_writes * table.register_write_pj);
  out.array = macs * per_mac.hops * table.hop_pj;
  out.buffer += (reads * table.buffer_read_pj + writes * table.buffer_write_pj) * kPico;
  return out;
}

Energy vector_energy(int64_t elements, const Accelerator& accelerator) {
  const EnergyTable& table = accelerator.energy;
  const auto count = static_cast<double>(elements) * kPico;
  Energy out;
  out.vector = count * table.vector_op_pj;
  out.buffer = count * (table.buffer_read_pj + table.buffer_write_pj);
  return out;
}

Energy transfer_energy(double dram_reads, double dram_writes, const Accelerator& accelerator) {
  const EnergyTable& table = accelerator.energy;
  Energy out;
  out.dram = dram_joules(dram_reads + dram_writes, accelerator);
  out.buffer = (dram_reads * table.buffer_write_pj + dram_writes * table.buffer_read_pj) * kPico;
  return out;
}

Energy leakage_energy(int64_t cycles, int64_t pes, const Accelerator& accelerator) {
  const EnergyTable& table = accelerator.energy;
  const double seconds = static_cast<double>(cycles) / (accelerator.clock_mhz * kHertzPerMhz);
  const double watts = kMilli * (static_cast<double>(pes) * table.pe_leakage_mw +
                                 table.buffer_leakage_mw + table.dram_standby_mw);
  Energy out;
  out.leakage = seconds * watts;
  return out;
}

void set_buffer(Accelerator& accelerator, int64_t bytes) {
  if (bytes < kSmallestBuffer || bytes > kLargestBuffer) {
    throw UsageError(core::cat("a buffer of ", bytes,
                               " bytes: the energies of CACTI are known for ", kSmallestBuffer,
                               " to ", kLargestBuffer, " bytes"));
  }
  const auto size = static_cast<double>(bytes);
  const Sram* above = std::find_if(std::begin(kSrams) + 1, std::end(kSrams) - 1,
                                   [&](const Sram& sram) { return sram.bytes >= size; });
  const Sram& low = *(above - 1);
  const Sram& high = *above;
  const double place = std::log(size / low.bytes) / std::log(high.bytes / low.bytes);
  const auto between = [&](double Sram::*field) {
    return low.*field * std::pow(high.*field / low.*field, place);
  };
  const double words = static_cast<double>(accelerator.word_bytes) / kTableWordBytes;
  accelerator.buffer_bytes = bytes;
  accelerator.energy.buffer_read_pj = between(&Sram::read_pj) * words;
  accelerator.energy.buffer_write_pj = between(&Sram::write_pj) * words;
  accelerator.energy.buffer_leakage_mw = between(&Sram::leakage_mw);
}

}  // namespace adagp::accel
