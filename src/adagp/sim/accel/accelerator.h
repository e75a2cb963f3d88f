#pragma once
// The machine: array, buffers, bandwidths, precision, energies. Read from TOML; presets are in
// configs/accelerators. A zero bound means "no bound": nothing stalls unless a file sets one.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "adagp/base/core/binding.h"

namespace adagp::accel {

// Sides whose product, times any word size, stays far from 64 bits.
inline constexpr int64_t kMaxSide = 65536;

// Registers of one PE matter to row stationary (what it keeps decides what the buffer sees), and to
// in-place those for weights.
struct Array {
  int64_t rows = 12;               // H, or A in Eyeriss
  int64_t columns = 15;            // W, or B
  int64_t filter_registers = 224;  // words; Eyeriss: 224, 12, 24
  int64_t input_registers = 12;
  int64_t sum_registers = 24;
  int64_t weight_registers = 0;  // in-place: folds whose weight a PE keeps; 0: all

  int64_t pes() const { return rows * columns; }
};

// Energy per access in pJ for one word of `word_bytes`, and leakage in mW. The defaults are for
// 16-bit words at 45 nm: SRAM from CACTI 7.0 (Accelergy's LSTP set-up, 64-bit port; 512 B
// registers, 108 KiB buffer), MAC from nn_dataflow's Eyeriss model, DRAM LPDDR4 at 8 pJ/bit. The
// hop is a guess, twice a MAC: no published figure for it was found.
struct EnergyTable {
  double mac_pj = 2.0;
  double register_read_pj = 0.72;
  double register_write_pj = 1.091;
  double hop_pj = 4.0;  // one word from a PE to its neighbour, or over the array's network
  double buffer_read_pj = 7.362;
  double buffer_write_pj = 6.039;
  double dram_pj_per_bit = 8.0;
  double vector_op_pj = 2.0;        // one element of one vector pass, without its buffer accesses
  double pe_leakage_mw = 2.198e-5;  // of one PE with its registers
  double buffer_leakage_mw = 2.830e-3;
  double dram_standby_mw = 0.0;
};

// Memories of the machine in rtl/: 2^bits rows each.
struct RtlMemories {
  int64_t x_bits = 12, y_bits = 12, w_bits = 14, predictor_bits = 16, descriptor_bits = 16;
};

// TensorDash (arrays/tensordash.cpp): tiles of PEs with 16 multipliers each.
struct TensorDashSizes {
  int64_t rows = 4, columns = 4, tiles = 16;
  std::string order = "paper";  // in which a multiplier tries its eight inputs: paper, sorted
  double overhead = 0.032;      // of the compute energy, for staging buffers and schedulers
};

// FAST (arrays/fast.h): cells that multiply 16 pairs of 2-bit chunks.
struct FastFormat {
  int64_t exponent_bits = 3;  // stored for a group of 16 values
  bool regroup = true;        // each product groups its operands along what it sums over
  double fmac_pj = 1.0;       // one cell for one cycle: a guess
  double mac_area = 1.0;      // area of a bf16 MAC over that of a cell: a guess
};

// Procrustes (arrays/procrustes_tiles.h), on array.rows x array.columns PEs.
struct ProcrustesMapping {
  std::string mapping = "kn";  // filters x examples; ck: channels x filters
  bool balance = true;         // halves of tiles are paired, where the mapping allows it
  int64_t registers = 256;     // words of a PE
};

// Embedded DRAM (arrays/lifetimes.h). Energies are the ratios of a published comparison on our
// buffer's; no figure for 16 nm was found.
struct Edram {
  int64_t bytes = 589824;                                        // 12 banks of 48 KiB
  double retention_us = 3.35;                                    // 16 nm, 100 degrees
  double read_pj = 3.387, write_pj = 2.778, refresh_pj = 6.165;  // of a word
  double leakage_mw = 1.047e-3;
  int64_t block_layers = 2;  // weight layers of a reversible block
};

struct Accelerator {
  std::string name = "adagp-180";
  std::string about;
  std::string machine = "formulas";  // or "rtl": cycles of the machine in rtl/ (rtl_machine.h)
  RtlMemories rtl;
  Array array;
  std::string dataflow = "ws";
  int64_t word_bytes = 2;
  double clock_mhz = 200;

  int64_t vector_lanes = 0;  // elements of a vector pass per cycle; 0: one per PE

  int64_t buffer_bytes = 0;           // 0: everything fits
  double buffer_bytes_per_cycle = 0;  // 0: never binds
  bool double_buffered = true;        // loads run beside computation, with half the capacity
  double dram_bytes_per_cycle = 0;    // 0: never binds

  // Second array of design max. A side of 0 is two thirds of the first array's: 8x10 beside 12x15,
  // our shapes for the paper's 80 MACs and 180 PEs, and in proportion when the array is swept.
  Array predictor_array{0, 0, 224, 12, 24};
  bool predictor_full_width = false;  // true: its FC computes all columns, also the masked ones
  bool predictor_reorganise = true;   // count the batch mean of the outputs as a vector pass
  double swap_words_per_cycle = 0;    // of predictor weights that are not kept; 0: one per column
  // Designs efficient and max keep the predictor's weights in it; 0: they always fit. The default
  // is the published one: 1080 RAMB36 of 36 Kbit each.
  int64_t predictor_memory_bytes = int64_t{1080} * 36864 / 8;

  std::string transpose = "free";  // or "buffer", "unit" (memory.h)
  int64_t transposers = 15;        // units of "unit"

  TensorDashSizes tensordash;
  FastFormat fast;
  ProcrustesMapping procrustes;
  Edram edram;

  EnergyTable energy;

  int64_t lanes() const { return vector_lanes > 0 ? vector_lanes : array.pes(); }
  Array second_array() const;  // predictor_array with its sides filled in
  // Of so many predictor weights, those that do not fit its memory.
  int64_t words_beyond_memory(int64_t words) const {
    if (predictor_memory_bytes == 0) return 0;
    return std::max<int64_t>(0, words - predictor_memory_bytes / word_bytes);
  }
};

// The keys of an accelerator file with a line of text each, bound to `accelerator`: for TOML, --set
// and documentation.
core::Binding bind(Accelerator& accelerator);

// Throws UsageError with file, line and column for anything that is not TOML, an unknown key or a
// value out of range. Keys that are missing keep the defaults above, but a missing name is the
// file's, without folder and ".toml". Accepts CRLF and a UTF-8 BOM.
Accelerator parse_accelerator(std::string_view text, const std::string& file_name);

// Throws UsageError when a size is not in range (array sides 1 .. 65536, word_bytes 1 .. 16, ...),
// so that products such as rows*columns cannot overflow; for accelerators that no file was read
// for.
void check(const Accelerator& accelerator);
// Of these, what a sweep changes: the name is known, and the machine can work by it.
void check_dataflow(const Accelerator& accelerator);

}  // namespace adagp::accel
