#include "adagp/sim/accel/accelerator.h"

#include <algorithm>
#include <filesystem>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/accel/dataflow/dataflow.h"
#include "adagp/sim/rtl/machine.h"

namespace adagp::accel {
namespace {

constexpr double kMaxBytes = 1e15;

std::vector<std::string> dataflow_names() {
  std::vector<std::string> names;
  for (const Dataflow* dataflow : dataflows()) names.emplace_back(dataflow->name);
  return names;
}

void bind_registers(core::Binding& keys, const std::string& prefix, Array& array) {
  keys.bind(prefix + ".filter_registers", &array.filter_registers,
            "words a PE keeps of the filters (row stationary)")
      .between(1, kMaxSide);
  keys.bind(prefix + ".input_registers", &array.input_registers,
            "words a PE keeps of the inputs (row stationary)")
      .between(1, kMaxSide);
  keys.bind(prefix + ".sum_registers", &array.sum_registers,
            "partial sums a PE keeps (row stationary)")
      .between(1, kMaxSide);
}

void bind_energy(core::Binding& keys, EnergyTable& e) {
  const auto energy = [&](const char* key, double& value, const char* about) {
    keys.bind(std::string("energy.") + key, &value, about).between(0, 1e12);
  };
  energy("mac_pj", e.mac_pj, "one multiplication with addition, pJ");
  energy("register_read_pj", e.register_read_pj, "one word read from a PE's registers, pJ");
  energy("register_write_pj", e.register_write_pj, "one word written to a PE's registers, pJ");
  energy("hop_pj", e.hop_pj, "one word from PE to PE, latch included, pJ");
  energy("buffer_read_pj", e.buffer_read_pj, "one word read from the global buffer, pJ");
  energy("buffer_write_pj", e.buffer_write_pj, "one word written to the global buffer, pJ");
  energy("dram_pj_per_bit", e.dram_pj_per_bit, "one bit to or from DRAM, pJ");
  energy("vector_op_pj", e.vector_op_pj, "one element of a vector pass, pJ");
  energy("pe_leakage_mw", e.pe_leakage_mw, "leakage of one PE, mW");
  energy("buffer_leakage_mw", e.buffer_leakage_mw, "leakage of the global buffer, mW");
  energy("dram_standby_mw", e.dram_standby_mw, "standby power of the DRAM, mW");
}

// What only the machines of sim/arrays read.
void bind_machines(core::Binding& keys, Accelerator& a) {
  TensorDashSizes& t = a.tensordash;
  keys.bind("tensordash.rows", &t.rows, "rows of PEs of a tile, which advance together")
      .between(1, 64);
  keys.bind("tensordash.columns", &t.columns, "columns of PEs of a tile").between(1, kMaxSide);
  keys.bind("tensordash.tiles", &t.tiles, "tiles of PEs with 16 multipliers each")
      .between(1, kMaxSide);
  keys.bind("tensordash.order", &t.order,
            "in which a multiplier tries its eight inputs: paper, sorted")
      .one_of({"paper", "sorted"});
  keys.bind("tensordash.overhead", &t.overhead,
            "staging buffers and schedulers, as a share of the compute energy")
      .between(0, 10);
  FastFormat& f = a.fast;
  keys.bind("fast.exponent_bits", &f.exponent_bits, "stored for a group of 16 values")
      .between(1, 16);
  keys.bind("fast.regroup", &f.regroup, "each product groups along what it sums over");
  keys.bind("fast.fmac_pj", &f.fmac_pj, "a cell of 16 2-bit products for a cycle, pJ; a guess")
      .between(0, 1e12);
  keys.bind("fast.mac_area", &f.mac_area, "area of a bf16 MAC over that of such a cell; a guess")
      .between(0.01, 100);
  ProcrustesMapping& p = a.procrustes;
  keys.bind("procrustes.mapping", &p.mapping, "kn (filters x examples) or ck (channels x filters)")
      .one_of({"kn", "ck"});
  keys.bind("procrustes.balance", &p.balance, "halves of tiles are paired (kn)");
  keys.bind("procrustes.registers", &p.registers, "words of a PE for its tile of weights")
      .between(1, 1 << 20);
  Edram& e = a.edram;
  keys.bind("edram.bytes", &e.bytes, "machine camel: embedded DRAM for activations; 0: no bound")
      .between(0, kMaxBytes);
  keys.bind("edram.retention_us", &e.retention_us, "time after which a value must be refreshed, us")
      .between(1e-6, 1e12);
  const auto energy = [&](const char* key, double& value, const char* about) {
    keys.bind(std::string("edram.") + key, &value, about).between(0, 1e12);
  };
  energy("read_pj", e.read_pj, "one word read, pJ; a guess by ratios");
  energy("write_pj", e.write_pj, "one word written, pJ; a guess by ratios");
  energy("refresh_pj", e.refresh_pj,
         "one word refreshed (read and written), pJ; a guess by ratios");
  energy("leakage_mw", e.leakage_mw, "leakage of the eDRAM, mW; a guess by ratios");
  keys.bind("edram.block_layers", &e.block_layers, "weight layers of a reversible block")
      .between(1, 1 << 20);
}

}  // namespace

core::Binding bind(Accelerator& a) {
  core::Binding keys("docs/accelerators.md");
  keys.bind("name", &a.name, "name in reports; a file without it is called after itself");
  keys.bind("about", &a.about, "one line for people");
  keys.bind("machine", &a.machine,
            "how cycles are counted: formulas, or rtl (a program of the machine in rtl/)")
      .one_of({"formulas", "rtl"});
  const auto bits = [&](const char* key, int64_t& value, const char* about, int most = 16) {
    keys.bind(std::string("rtl.") + key, &value, about).between(2, most);
  };
  bits("x_bits", a.rtl.x_bits, "machine rtl: address bits of the memories X and D");
  bits("y_bits", a.rtl.y_bits, "machine rtl: address bits of the memories Y and G");
  bits("w_bits", a.rtl.w_bits, "machine rtl: address bits of the memories W, O, P and V");
  bits("predictor_bits", a.rtl.predictor_bits,
       "machine rtl: address bits of the predictor's memory");
  bits("descriptor_bits", a.rtl.descriptor_bits, "machine rtl: address bits of the program memory",
       rtl::kMaxDescriptorBits);
  keys.bind("dataflow", &a.dataflow,
            "how products are laid over the array: ws, is, os, rs or in-place")
      .one_of(dataflow_names());
  keys.bind("word_bytes", &a.word_bytes, "bytes of a number").between(1, 16);
  keys.bind("clock_mhz", &a.clock_mhz, "clock, MHz").between(1e-3, 1e6);
  keys.bind("transpose", &a.transpose, "what reading W or X transposed costs: free, buffer or unit")
      .one_of({"free", "buffer", "unit"});
  keys.bind("transposers", &a.transposers, "units for 16x16 words of transpose = unit")
      .between(1, kMaxSide);
  keys.bind("array.rows", &a.array.rows, "rows of PEs").between(1, kMaxSide);
  keys.bind("array.columns", &a.array.columns, "columns of PEs").between(1, kMaxSide);
  bind_registers(keys, "array", a.array);
  keys.bind("array.weight_registers", &a.array.weight_registers,
            "in-place: folds whose weight a PE keeps for the backward pass; 0: all")
      .between(0, 1e15);
  keys.bind("vector.lanes", &a.vector_lanes, "elements of a vector pass per cycle; 0: one per PE")
      .between(0, 1e9);
  keys.bind("buffer.bytes", &a.buffer_bytes, "global buffer, bytes; 0: everything fits")
      .between(0, kMaxBytes);
  keys.bind("buffer.bytes_per_cycle", &a.buffer_bytes_per_cycle,
            "bytes per cycle between global buffer and array; 0: never binds")
      .between(0, kMaxBytes);
  keys.bind("buffer.double_buffered", &a.double_buffered,
            "loads beside computation, in half the capacity");
  keys.bind("dram.bytes_per_cycle", &a.dram_bytes_per_cycle,
            "bytes per cycle to and from DRAM; 0: never binds")
      .between(0, kMaxBytes);
  keys.bind("predictor.rows", &a.predictor_array.rows,
            "rows of design max's second array; 0: two thirds of array.rows")
      .between(0, kMaxSide);
  keys.bind("predictor.columns", &a.predictor_array.columns,
            "its columns; 0: two thirds of array.columns")
      .between(0, kMaxSide);
  bind_registers(keys, "predictor", a.predictor_array);
  keys.bind("predictor.full_width", &a.predictor_full_width,
            "the FC computes the masked columns too");
  keys.bind("predictor.reorganise", &a.predictor_reorganise,
            "count the batch mean as a vector pass");
  keys.bind("predictor.swap_words_per_cycle", &a.swap_words_per_cycle,
            "transfers of predictor weights that are not kept on chip; 0: one word per column")
      .between(0, kMaxBytes);
  keys.bind("predictor.memory_bytes", &a.predictor_memory_bytes,
            "designs efficient and max: memory of the predictor's weights; 0: they always fit")
      .between(0, kMaxBytes);
  bind_energy(keys, a.energy);
  bind_machines(keys, a);
  return keys;
}

Array Accelerator::second_array() const {
  const auto two_thirds = [](int64_t side) { return std::max<int64_t>(1, (4 * side + 3) / 6); };
  Array second = predictor_array;
  if (second.rows == 0) second.rows = two_thirds(array.rows);
  if (second.columns == 0) second.columns = two_thirds(array.columns);
  return second;
}

Accelerator parse_accelerator(std::string_view text, const std::string& file_name) {
  Accelerator accelerator;
  accelerator.name = std::filesystem::path(file_name).stem().string();
  bind(accelerator).load_toml(core::without_byte_order_mark(text), file_name);
  check(accelerator);
  return accelerator;
}

void check(const Accelerator& accelerator) {
  Accelerator copy = accelerator;
  const core::Binding keys = bind(copy);
  for (const auto& field : keys.fields()) {
    double value = 0;
    if (const auto* whole = std::get_if<int64_t*>(&field.target)) {
      value = static_cast<double>(**whole);
    } else if (const auto* real = std::get_if<double*>(&field.target)) {
      value = **real;
    } else {
      continue;
    }
    if (!(value >= field.low && value <= field.high)) {
      throw UsageError(core::cat("accelerator '", accelerator.name, "': ", field.key, " is ", value,
                                 ", expected ", field.low, " to ", field.high));
    }
  }
  check_dataflow(accelerator);
}

void check_dataflow(const Accelerator& accelerator) {
  const Dataflow& flow = find_dataflow(accelerator.dataflow);
  if (accelerator.machine == "rtl" && flow.name != std::string("in-place")) {
    throw UsageError(core::cat("accelerator '", accelerator.name, "': its machine, that of rtl/, ",
                               "works by the dataflow 'in-place' alone, got '", flow.name, "'"));
  }
}

}  // namespace adagp::accel
