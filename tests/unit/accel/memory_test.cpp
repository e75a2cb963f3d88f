// Off-chip traffic, stalls and energy.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "adagp/sim/accel/cost.h"
#include "unit/accel/networks.h"

namespace adagp::accel {
namespace {

TEST(Memory, WithoutBoundsEveryTensorPassesOnceAndNothingStalls) {
  const Accelerator accelerator;
  for (const layers::Row& row : test::resnet50().rows) {
    const Work work = forward_work(row, 4);
    const MemoryCost cost =
        memory_cost(work, kWeightStationary.cost(work, accelerator.array), accelerator);
    EXPECT_EQ(cost.order, LoopOrder::kResident);
    EXPECT_EQ(cost.dram_reads, work.tensors.input + work.tensors.filter);
    EXPECT_EQ(cost.dram_writes, work.tensors.output);
    EXPECT_EQ(cost.stall_cycles, 0);
  }
}

Accelerator bounded(int64_t words, bool double_buffered = false) {
  Accelerator accelerator;
  accelerator.word_bytes = 1;
  accelerator.buffer_bytes = words;
  accelerator.double_buffered = double_buffered;
  return accelerator;
}

int64_t traffic(const Work& work, const Accelerator& accelerator) {
  const MemoryCost cost = dram_traffic(work, accelerator);
  return cost.dram_reads + cost.dram_writes;
}

// The least traffic of all tile sizes that fit, tried one by one, for the orders that keep sums.
int64_t exhaustive(const Gemm& g, int64_t words) {
  int64_t best = std::numeric_limits<int64_t>::max();
  if (g.m * g.k + g.k * g.n + g.m * g.n <= words) return g.m * g.k + g.k * g.n + g.m * g.n;
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  for (int64_t tm = 1; tm <= g.m; ++tm) {
    for (int64_t tn = 1; tn <= g.n; ++tn) {
      if (tm * tn + tm + tn > words) continue;
      best = std::min(best, g.m * g.k * up(g.n, tn) + g.k * g.n * up(g.m, tm) + g.m * g.n);
    }
  }
  for (int64_t tn = 1; tn <= g.n; ++tn) {
    if (g.k * tn + tn + g.k > words) continue;
    best = std::min(best, g.m * g.k * up(g.n, tn) + g.k * g.n + g.m * g.n);
  }
  for (int64_t tm = 1; tm <= g.m; ++tm) {
    if (g.k * tm + tm + g.k > words) continue;
    best = std::min(best, g.m * g.k + g.k * g.n * up(g.m, tm) + g.m * g.n);
  }
  return best;
}

TEST(Memory, ChosenOrderIsNearTheBestOfAllTiles) {
  for (const Gemm& g : {Gemm{40, 30, 20}, Gemm{7, 64, 33}, Gemm{64, 8, 64}, Gemm{100, 1, 3}}) {
    for (const int64_t words : {3, 10, 50, 200, 1000, 5000, 20000}) {
      const int64_t ours = traffic(gemm_work(g), bounded(words));
      const int64_t best = exhaustive(g, words);
      EXPECT_GE(ours, best) << g.m << " " << words;
      // Our tile of sums is square where it can be; the best one may divide the sizes more evenly.
      EXPECT_LE(static_cast<double>(ours), 1.35 * static_cast<double>(best)) << g.m << " " << words;
    }
  }
}

// In place the weights of the forward pass are still in the PEs: dX = dY W^T moves dY and dX alone.
TEST(Memory, WeightsKeptInThePesPassNoMemory) {
  const layers::Row row = test::conv("a", 16, 14, 32, 3, 1, 1);
  const Work forward = forward_work(row, 2), gradient = input_gradient_work(forward, row);
  for (const int64_t words : {0, 200, 1000, 5000, 1000000}) {
    Accelerator a = bounded(words);
    a.dram_bytes_per_cycle = 1;
    const auto reads = [&](const Work& work, const Dataflow& dataflow) {
      return product_cost(work, a.array, dataflow, a).dram_reads;
    };
    EXPECT_GE(reads(forward, kInPlaceTransposed), forward.tensors.input + forward.tensors.filter);
    const PassCost kept = product_cost(gradient, a.array, kInPlaceTransposed, a);
    EXPECT_EQ(kept.sram.filter, 0);
    if (words >= 200) {  // dY's row of 32 words and a sum fit: dY passes once
      EXPECT_EQ(kept.dram_reads, gradient.tensors.input) << words;
    }
    EXPECT_EQ(kept.dram_writes, gradient.tensors.output);
    EXPECT_GE(reads(gradient, kWeightStationary), gradient.tensors.input + gradient.tensors.filter);
  }
}

TEST(Memory, SumsLeaveTheChipOnlyWhenNoSumFits) {
  const Work work = gemm_work({4, 6, 5});
  EXPECT_EQ(dram_traffic(work, bounded(3)).order, LoopOrder::kHoldOutput);
  const MemoryCost spilled = dram_traffic(work, bounded(2));
  EXPECT_EQ(spilled.order, LoopOrder::kSpill);
  EXPECT_EQ(spilled.dram_writes, 4 * 5 * 6);                     // each of K steps writes every sum
  EXPECT_EQ(spilled.dram_reads, 4 * 6 * 5 + 6 * 5 + 4 * 5 * 5);  // X per column, W once, sums back
}

TEST(Memory, DoubleBufferingHalvesTheCapacity) {
  const Work work = gemm_work({40, 30, 20});
  for (const int64_t words : {20, 200, 2000}) {
    EXPECT_EQ(traffic(work, bounded(2 * words, true)), traffic(work, bounded(words, false)));
  }
}

TEST(Memory, StallsByHand) {
  const Work work = gemm_work({10, 12, 15});  // one fold of 12x15: 10 + 24 + 15 - 2 = 47 cycles
  Accelerator a;
  const ArrayCost cost = kWeightStationary.cost(work, a.array);
  ASSERT_EQ(cost.cycles, 47);
  const int64_t bytes = 2 * (120 + 180 + 150);
  a.dram_bytes_per_cycle = 10;
  // W and a row of X, 2*(180 + 12) bytes, take 39 cycles; the other 51 cycles of traffic pass
  // beside the 47 of the computation.
  MemoryCost memory = memory_cost(work, cost, a);
  EXPECT_EQ(memory.fill_cycles, 39);
  EXPECT_EQ(memory.stall_cycles, bytes / 10 - 47);
  a.double_buffered = false;
  EXPECT_EQ(memory_cost(work, cost, a).stall_cycles, bytes / 10);
  a.dram_bytes_per_cycle = 0;
  a.buffer_bytes_per_cycle = 2;  // words: 120 + 180 + 150, no sums come back
  EXPECT_EQ(memory_cost(work, cost, a).stall_cycles, 450 - 47);
}

// One multiplication on one PE, one byte a word and a cycle: the weight and the input come in
// cycles 1 and 2, the array works in 3 and 4 (load, multiply), and the result leaves beside what
// follows.
TEST(Memory, TheSmallestProductByHand) {
  const Work work = gemm_work({1, 1, 1});
  Accelerator a = bounded(64, true);
  a.array.rows = a.array.columns = 1;
  a.dram_bytes_per_cycle = 1;
  const ArrayCost cost = kWeightStationary.cost(work, a.array);
  ASSERT_EQ(cost.cycles, 2);
  const MemoryCost memory = memory_cost(work, cost, a);
  EXPECT_EQ(memory.dram_reads + memory.dram_writes, 3);
  EXPECT_EQ(memory.first_tile, 2);
  EXPECT_EQ(memory.fill_cycles, 2);
  EXPECT_EQ(cost.cycles + memory.stall_cycles, 4);
  a.double_buffered = false;  // nothing at a time: three bytes and two cycles
  EXPECT_EQ(cost.cycles + memory_cost(work, cost, a).stall_cycles, 5);
}

// The first tiles pass the interface once: 84 bytes at one byte a cycle take 84 cycles.
TEST(Memory, FirstTilesAreNotReadTwice) {
  const Work work = gemm_work({1, 1, 10});  // 1 + 10 + 10 words
  Accelerator a;
  a.word_bytes = 4;
  a.dram_bytes_per_cycle = 1;
  const ArrayCost cost = kWeightStationary.cost(work, a.array);
  ASSERT_EQ(cost.cycles, 38);
  const MemoryCost memory = memory_cost(work, cost, a);
  EXPECT_EQ(memory.fill_cycles, 4 * 11);
  EXPECT_EQ(cost.cycles + memory.stall_cycles, 84);
}

TEST(Memory, TimeLiesBetweenItsPartsAndTheirSum) {
  for (const layers::Row& row : test::vgg13_cifar().rows) {
    const Work work = forward_work(row, 2);
    for (const int64_t words : {100, 5000, 100000}) {
      for (const double rate : {0.5, 4.0, 64.0}) {
        Accelerator a = bounded(words, true);
        a.dram_bytes_per_cycle = rate;
        a.buffer_bytes_per_cycle = 2 * rate;
        const ArrayCost cost = kOutputStationary.cost(work, a.array);
        const MemoryCost memory = memory_cost(work, cost, a);
        const int64_t time = cost.cycles + memory.stall_cycles;
        const auto dram =
            cycles_for(static_cast<double>(memory.dram_reads + memory.dram_writes), rate);
        const auto buffer = cycles_for(static_cast<double>(cost.sram.total()), 2 * rate);
        EXPECT_GE(time, std::max({cost.cycles, dram, buffer}));
        EXPECT_LE(memory.first_tile, memory.dram_reads);
        EXPECT_LE(time, dram + std::max(cost.cycles, buffer));  // what single buffering takes
      }
    }
  }
}

TEST(Memory, MoreBandwidthIsNeverSlower) {
  const auto rows = test::vgg13_cifar().rows;
  for (const Dataflow* dataflow : dataflows()) {
    for (const layers::Row& row : rows) {
      const Work work = forward_work(row, 3);
      int64_t last = std::numeric_limits<int64_t>::max();
      for (double rate = 0.125; rate < 1e5; rate *= 2) {
        Accelerator a = bounded(65536, true);
        a.dram_bytes_per_cycle = rate;
        a.buffer_bytes_per_cycle = 3 * rate;
        const int64_t now = product_cost(work, a.array, *dataflow, a).stall;
        EXPECT_LE(now, last);
        last = now;
      }
      Accelerator free = bounded(65536, true);
      EXPECT_EQ(product_cost(work, free.array, *dataflow, free).stall, 0);
    }
  }
}

TEST(Energy, OneProductByHand) {
  const Work work = gemm_work({10, 12, 15});
  const Accelerator a;
  const EnergyTable& t = a.energy;
  const PassCost cost = product_cost(work, a.array, kWeightStationary, a);
  const double pico = 1e-12;
  EXPECT_DOUBLE_EQ(cost.energy.mac, 1800 * t.mac_pj * pico);
  EXPECT_DOUBLE_EQ(cost.energy.registers, 1800 * t.register_read_pj * pico);
  EXPECT_DOUBLE_EQ(cost.energy.array, 1800 * 2 * t.hop_pj * pico);
  EXPECT_DOUBLE_EQ(cost.energy.dram, (120 + 180 + 150) * 16 * 8.0 * pico);
  // Array reads X and W and writes Y; DRAM fills X and W and drains Y.
  EXPECT_NEAR(cost.energy.buffer,
              ((300 + 150) * t.buffer_read_pj + (150 + 300) * t.buffer_write_pj) * pico, 1e-20);
}

TEST(Energy, LeakageIsPowerTimesTime) {
  Accelerator a;
  a.clock_mhz = 100;
  a.energy.pe_leakage_mw = 0.5;
  a.energy.buffer_leakage_mw = 3;
  a.energy.dram_standby_mw = 7;
  // 10^8 cycles at 100 MHz are one second; 180 PEs.
  EXPECT_NEAR(leakage_energy(100000000, 180, a).leakage, (90 + 3 + 7) * 1e-3, 1e-12);
}

// A word from DRAM is written to the buffer, a word to DRAM read from it.
TEST(Energy, TransfersCostOneBufferAccessAWord) {
  Accelerator a;
  a.energy = {};
  a.energy.buffer_read_pj = 3;
  a.energy.buffer_write_pj = 5;
  a.energy.dram_pj_per_bit = 2;
  const Energy moved = transfer_energy(7, 11, a);
  EXPECT_DOUBLE_EQ(moved.buffer, (7 * 5 + 11 * 3) * 1e-12);
  EXPECT_DOUBLE_EQ(moved.dram, 18 * 16 * 2 * 1e-12);  // 16 bits a word
  EXPECT_DOUBLE_EQ(moved.total(), moved.buffer + moved.dram);
}

}  // namespace
}  // namespace adagp::accel
