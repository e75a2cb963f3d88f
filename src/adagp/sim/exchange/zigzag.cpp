// ZigZag's workload, mapping and accelerator. Its names: O += I * W, where I is the left operand
// and W the right one, whatever tensors of the layer they are.

#include "adagp/base/core/text.h"
#include "adagp/sim/exchange/formats.h"
#include "adagp/sim/exchange/mapping.h"
#include "adagp/sim/exchange/yaml.h"

namespace adagp::exchange {
namespace {

// In the order of Loop.
constexpr std::array<const char*, kLoops> kZigzagNames = {"B",  "G",  "K",  "C",  "OZ",
                                                          "OY", "OX", "FZ", "FY", "FX"};

std::string zigzag_name(Loop loop) {
  return kZigzagNames[static_cast<size_t>(loop)];
}

// Of the map's axis that a position and a tap make up: "IX".
std::string zigzag_axis(const Index& index) {
  return std::string("I") + zigzag_name(index.loop).back();
}

// ZigZag's own networks have two axes.
bool is_written(const LoopNest& nest, Loop loop) {
  const bool third = loop == Loop::kDepth || loop == Loop::kTapDepth;
  return !third || nest.size(Loop::kDepth) > 1 || nest.size(Loop::kTapDepth) > 1;
}

std::string subscripts(const LoopNest& nest, const Tensor& tensor) {
  std::string out;
  for (const Index& index : tensor.indices) {
    if (!is_written(nest, index.loop)) continue;
    out += "[" + core::lower(index.tap ? zigzag_axis(index) : zigzag_name(index.loop)) + "]";
  }
  return out;
}

std::string window_lines(const LoopNest& nest) {
  std::vector<std::string> relations, axes, sizes, paddings;
  for (const Index& index : nest.windows()) {
    if (!is_written(nest, index.loop)) continue;
    relations.push_back(
        core::lower(core::cat(zigzag_axis(index), "=", index.stride, "*", zigzag_name(index.loop),
                              "+", index.dilation, "*", zigzag_name(*index.tap))));
    axes.push_back(zigzag_axis(index));
    sizes.push_back(std::to_string(index.size));
    paddings.push_back(core::cat("[", index.padding, ", ", index.padding, "]"));
  }
  return core::cat("  dimension_relations: ", yaml::list(relations),
                   "\n  pr_loop_dims: ", yaml::list(axes), "\n  pr_loop_sizes: ", yaml::list(sizes),
                   "\n  padding: ", yaml::list(paddings), "\n");
}

std::string workload_entry(const LoopNest& nest, size_t id, int64_t bits) {
  std::vector<std::string> names, sizes;
  for (size_t i = 0; i < kLoops; ++i) {
    if (!is_written(nest, static_cast<Loop>(i))) continue;
    names.emplace_back(kZigzagNames[i]);
    sizes.push_back(std::to_string(nest.sizes[i]));
  }
  const bool window = nest.op.starts_with("conv");
  return core::cat("- id: ", id, "\n  name: ", yaml::quoted(product_name(nest)),
                   "\n  operator_type: ", window ? "Conv" : "Gemm", "\n  equation: O",
                   subscripts(nest, nest.result), "+=I", subscripts(nest, nest.left), "*W",
                   subscripts(nest, nest.right), "\n", window_lines(nest),
                   "  loop_dims: ", yaml::list(names), "\n  loop_sizes: ", yaml::list(sizes),
                   "\n  operand_precision: {I: ", bits, ", W: ", bits, ", O: ", bits,
                   ", O_final: ", bits, "}\n  operand_source: {I: ", id, ", W: ", id, "}\n");
}

// ZigZag would choose loops for a side that has none.
std::string side(const std::vector<Factor>& factors, const std::vector<Loop>& loops) {
  std::vector<std::string> out;
  for (const Factor& factor : factors) {
    out.push_back(core::cat('"', zigzag_name(factor.loop), ", ", factor.size, '"'));
  }
  if (out.empty()) out.push_back(core::cat('"', zigzag_name(loops.front()), ", 1\""));
  return yaml::list(out);
}

std::string mapping_entry(const std::string& name, const LoopNest& nest,
                          const accel::Accelerator& accelerator) {
  const Axes axes = axes_of(nest, accelerator);
  const Mapping mapping = map_nest(nest, accelerator);
  std::vector<std::string> time;
  for (const Factor& factor : mapping.time) {
    time.push_back(core::cat("[", zigzag_name(factor.loop), ", ", factor.size, "]"));
  }
  return core::cat(
      "- name: ", yaml::quoted(name), "\n  spatial_mapping: {D1: ", side(mapping.rows, *axes.rows),
      ", D2: ", side(mapping.columns, *axes.columns), "}\n  temporal_ordering: ", yaml::list(time),
      "\n  memory_operand_links: {O: O, W: I2, I: I1}\n");
}

struct Memory {
  const char* name;
  int64_t bits;
  double read_pj, write_pj;  // of a word
  std::vector<std::string> operands;
  bool shared;     // one for all PEs
  int64_t words;   // per cycle
  bool outermost;  // nothing above it
};

// What passes between a memory and its neighbours, in ZigZag's words.
struct Transfer {
  const char* direction;
  bool writes;  // into the memory
  bool above;   // from or to the memory above
  bool inputs;  // of operands, too; else of results alone
};
constexpr std::array<Transfer, 4> kTransfers = {{{"tl", false, false, true},
                                                 {"fh", true, true, true},
                                                 {"fl", true, false, false},
                                                 {"th", false, true, false}}};

// A port for each transfer, because ZigZag gives each of them whole cycles of its port. An access
// is as wide as the port, so it costs as much as its words.
std::string ports_text(const Memory& memory, int64_t word_bits) {
  std::string out;
  int reads = 0, writes = 0;
  for (const std::string& operand : memory.operands) {
    for (const Transfer& transfer : kTransfers) {
      if ((transfer.above && memory.outermost) || (operand != "O" && !transfer.inputs)) continue;
      const std::string port =
          transfer.writes ? core::cat("w_port_", ++writes) : core::cat("r_port_", ++reads);
      out +=
          core::cat("      - name: ", port, "\n        type: ", transfer.writes ? "write" : "read",
                    "\n        bandwidth_min: ", word_bits,
                    "\n        bandwidth_max: ", word_bits * memory.words,
                    "\n        allocation: [\"", operand, ", ", transfer.direction, "\"]\n");
    }
  }
  return out;
}

std::string memory_entry(const Memory& memory, int64_t word_bits) {
  const auto words = static_cast<double>(memory.words);
  return core::cat("  ", memory.name, ":\n    size: ", memory.bits,
                   "\n    r_cost: ", core::fixed(memory.read_pj * words, 6),
                   "\n    w_cost: ", core::fixed(memory.write_pj * words, 6),
                   "\n    area: 0\n    latency: 1\n    operands: ", yaml::list(memory.operands),
                   "\n    ports:\n", ports_text(memory, word_bits),
                   "    served_dimensions: ", memory.shared ? "[D1, D2]" : "[]", "\n");
}

// The operand that rests in the PEs.
const char* resting_operand(const accel::Accelerator& accelerator) {
  return accelerator.dataflow == "ws" ? "I2" : accelerator.dataflow == "is" ? "I1" : "O";
}

std::string accelerator_text(const accel::Accelerator& a) {
  const accel::EnergyTable& e = a.energy;
  const MachineSizes sizes = machine_sizes(a);
  const double dram_pj = e.dram_pj_per_bit * static_cast<double>(sizes.word_bits);
  const std::vector<std::string> all = {"I1", "I2", "O"};
  const Memory memories[] = {{"pe_register",
                              sizes.word_bits,
                              e.register_read_pj,
                              e.register_write_pj,
                              {resting_operand(a)},
                              false,
                              1,
                              false},
                             {"buffer", 8 * sizes.buffer_bytes, e.buffer_read_pj, e.buffer_write_pj,
                              all, true, sizes.buffer_words_per_cycle, false},
                             {"dram", 8 * sizes.dram_bytes, dram_pj, dram_pj, all, true,
                              sizes.dram_words_per_cycle, true}};
  std::string out = core::cat("name: ", yaml::quoted(a.name), "\n\nmemories:\n");
  for (const Memory& memory : memories) out += memory_entry(memory, sizes.word_bits);
  return core::cat(out, "\noperational_array:\n  input_precision: [", sizes.word_bits, ", ",
                   sizes.word_bits, "]\n  unit_energy: ", core::fixed(e.mac_pj, 6),
                   "\n  unit_area: 1\n  dimensions: [D1, D2]\n  sizes: [", a.array.rows, ", ",
                   a.array.columns, "]\n");
}

}  // namespace

std::vector<File> zigzag_files(const Request& request, const std::vector<LoopNest>& nests) {
  const int64_t bits = machine_sizes(request.accelerator).word_bits;
  std::string workload, mapping = mapping_entry("default", nests.front(), request.accelerator);
  for (size_t i = 0; i < nests.size(); ++i) {
    workload += workload_entry(nests[i], i, bits);
    mapping += mapping_entry(product_name(nests[i]), nests[i], request.accelerator);
  }
  return {{"workload.yaml", workload},
          {"mapping.yaml", mapping},
          {"accelerator.yaml", accelerator_text(request.accelerator)}};
}

}  // namespace adagp::exchange
