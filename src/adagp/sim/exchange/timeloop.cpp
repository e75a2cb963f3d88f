// Timeloop's files of version 0.4: a problem for each product, with the constraints of the
// dataflow, and one architecture.

#include "adagp/base/core/text.h"
#include "adagp/sim/exchange/formats.h"
#include "adagp/sim/exchange/mapping.h"
#include "adagp/sim/exchange/yaml.h"

namespace adagp::exchange {
namespace {

// One letter each, because Timeloop joins them in permutations. In the order of Loop; T and U are
// position and tap of a third axis.
constexpr std::array<const char*, kLoops> kTimeloopNames = {"N", "G", "M", "C", "T",
                                                            "P", "Q", "U", "R", "S"};

std::string timeloop_name(Loop loop) {
  return kTimeloopNames[static_cast<size_t>(loop)];
}

// "D", "H" or "W" of the axis that a position belongs to.
std::string axis_letter(Loop position) {
  return position == Loop::kDepth ? "D" : position == Loop::kHeight ? "H" : "W";
}

std::vector<std::string> names_of(const std::vector<Loop>& loops) {
  std::vector<std::string> out;
  for (const Loop loop : loops) out.push_back(timeloop_name(loop));
  return out;
}

// An index is a sum of products: one loop, or stride * position + dilation * tap.
std::string projection(const Index& index) {
  if (!index.tap) return core::cat("[[", timeloop_name(index.loop), "]]");
  const std::string axis = axis_letter(index.loop);
  return core::cat("[[", timeloop_name(index.loop), ", ", axis, "stride], [",
                   timeloop_name(*index.tap), ", ", axis, "dilation]]");
}

std::string data_space(const Tensor& tensor, bool written) {
  std::vector<std::string> indices;
  for (const Index& index : tensor.indices) indices.push_back(projection(index));
  return core::cat("      - name: ", tensor.name, "\n        projection: ", yaml::list(indices),
                   "\n", written ? "        read_write: true\n" : "");
}

std::string problem_text(const LoopNest& nest) {
  std::string out =
      core::cat("problem:\n  version: 0.4\n  shape:\n    name: ", pass_name(nest.pass),
                "\n    dimensions: ", yaml::list({kTimeloopNames.begin(), kTimeloopNames.end()}),
                "\n    coefficients:\n");
  std::vector<std::string> sizes;
  for (size_t i = 0; i < kLoops; ++i)
    sizes.push_back(core::cat(kTimeloopNames[i], ": ", nest.sizes[i]));
  for (const Index& index : nest.windows()) {
    const std::string axis = axis_letter(index.loop);
    out += core::cat("      - {name: ", axis, "stride, default: 1}\n      - {name: ", axis,
                     "dilation, default: 1}\n");
    sizes.push_back(core::cat(axis, "stride: ", index.stride));
    sizes.push_back(core::cat(axis, "dilation: ", index.dilation));
  }
  return core::cat(out, "    data_spaces:\n", data_space(nest.left, false),
                   data_space(nest.right, false), data_space(nest.result, true), "  instance: {",
                   core::join(sizes, ", "), "}\n");
}

std::string ones(const std::vector<Loop>& loops) {
  std::vector<std::string> out;
  for (const Loop loop : loops) out.push_back(timeloop_name(loop) + "=1");
  return yaml::list(out);
}

std::vector<Loop> joined(std::vector<Loop> a, const std::vector<Loop>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// What rests in the PEs: ws the right operand, is the left one, os the result.
const Tensor& resting(const LoopNest& nest, const std::string& dataflow) {
  return dataflow == "ws" ? nest.right : dataflow == "is" ? nest.left : nest.result;
}

// Columns are X and stand first, rows are Y. Only the stream passes by what rests in a PE.
std::string constraints_text(const LoopNest& nest, const accel::Accelerator& accelerator) {
  const Axes axes = axes_of(nest, accelerator);
  const Tensor& kept = resting(nest, accelerator.dataflow);
  std::vector<std::string> passing;
  for (const Tensor* tensor : {&nest.left, &nest.right, &nest.result}) {
    if (tensor->name != kept.name) passing.emplace_back(tensor->name);
  }
  const std::vector<Loop> groups = {Loop::kGroup};
  const std::vector<Loop> array = joined(*axes.columns, *axes.rows);
  const std::vector<Loop> in_time = joined(*axes.stream, groups);
  const std::vector<Loop> outside = joined(array, groups);
  return core::cat(
      "constraints:\n  version: 0.4\n  targets:\n    - type: spatial\n      target: pe\n"
      "      permutation: ",
      yaml::list(names_of(joined(array, in_time))), "\n      split: ", axes.columns->size(),
      "\n      factors: ", ones(in_time),
      "\n    - type: temporal\n      target: pe_register\n      permutation: ",
      yaml::list(names_of(joined(*axes.stream, outside))), "\n      factors: ", ones(outside),
      "\n    - type: dataspace\n      target: pe_register\n      keep: ", yaml::list({kept.name}),
      "\n      bypass: ", yaml::list(passing),
      "\n    - type: dataspace\n      target: buffer\n      keep: [Inputs, Weights, Outputs]\n");
}

// Timeloop asks for every depth; of what has no bound it is the largest that its 32 bits hold.
constexpr int64_t kUnboundedDepth = int64_t{1} << 30;

std::string storage(const std::string& name, const std::string& kind, int64_t words,
                    int64_t words_per_cycle, int64_t word_bits) {
  std::string out = core::cat("    - !Component\n      name: ", name, "\n      class: ", kind,
                              "\n      attributes:\n        datawidth: ", word_bits,
                              "\n        width: ", word_bits,
                              "\n        depth: ", words > 0 ? words : kUnboundedDepth, "\n");
  if (words_per_cycle > 0) {
    out += core::cat("        read_bandwidth: ", words_per_cycle,
                     "\n        write_bandwidth: ", words_per_cycle, "\n");
  }
  return out;
}

std::string architecture_text(const accel::Accelerator& a) {
  const MachineSizes sizes = machine_sizes(a);
  const int64_t bits = sizes.word_bits;
  return core::cat(
      "architecture:\n  version: 0.4\n  nodes:\n    - !Container\n      name: system\n"
      "      attributes: {technology: \"45nm\", global_cycle_seconds: ",
      core::fixed(1e-6 / a.clock_mhz, 15), "}\n",
      storage("dram", "DRAM", 0, a.dram_bytes_per_cycle > 0 ? sizes.dram_words_per_cycle : 0, bits),
      storage("buffer", "SRAM", a.buffer_bytes / a.word_bytes,
              a.buffer_bytes_per_cycle > 0 ? sizes.buffer_words_per_cycle : 0, bits),
      "    - !Container\n      name: pe\n      spatial: {meshX: ", a.array.columns,
      ", meshY: ", a.array.rows, "}\n", storage("pe_register", "regfile", 1, 0, bits),
      "    - !Component\n      name: mac\n      class: intmac\n      attributes: {datawidth: ",
      bits, ", width: ", bits, "}\n");
}

// Layers may be called anything; the number keeps files apart.
std::string file_name(size_t number, const LoopNest& nest) {
  std::string name = product_name(nest);
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && c != '.' && c != '_' && c != '-') c = '_';
  }
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits + "." + name +
         ".yaml";
}

}  // namespace

std::vector<File> timeloop_files(const Request& request, const std::vector<LoopNest>& nests) {
  std::vector<File> files = {{"architecture.yaml", architecture_text(request.accelerator)}};
  for (size_t i = 0; i < nests.size(); ++i) {
    files.push_back({file_name(i + 1, nests[i]),
                     problem_text(nests[i]) + constraints_text(nests[i], request.accelerator)});
  }
  return files;
}

}  // namespace adagp::exchange
