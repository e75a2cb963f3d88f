#include "adagp/sim/layers/table.h"

#include <initializer_list>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::layers {
namespace {

constexpr int64_t kFloatBytes = 4;

int64_t sum(int64_t a, int64_t b, const std::string& name) {
  int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  throw DataError("layer " + name + ": the sizes do not fit into 64 bits");
}

int64_t product(std::initializer_list<int64_t> factors, const std::string& name) {
  int64_t result = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) {
      throw DataError("layer " + name + ": the sizes do not fit into 64 bits");
    }
  }
  return result;
}

}  // namespace

bool is_convolution(const Row& row) {
  return row.op == "conv2d" || row.op == "conv3d" || row.op == "conv_transpose";
}

bool is_product(const Row& row) {
  return is_convolution(row) || row.op == "linear" || row.op == "matmul";
}

int64_t pixels_in(const Row& row) {
  return product({row.depth.input, row.input[1], row.input[2]}, row.name);
}

int64_t pixels_out(const Row& row) {
  return product({row.depth.output, row.output[1], row.output[2]}, row.name);
}

Table only_products(Table table) {
  std::erase_if(table.rows, [](const Row& row) { return !is_product(row); });
  return table;
}

bool is_repeated(const Row& row) {
  const size_t mark = row.name.rfind('#');
  return mark != std::string::npos && mark + 1 < row.name.size() &&
         row.name.find_first_not_of("0123456789", mark + 1) == std::string::npos;
}

void complete(Row& row) {
  const int64_t in = product({row.input[0], pixels_in(row)}, row.name);
  const int64_t out = product({row.output[0], pixels_out(row)}, row.name);
  int64_t second = row.op == "add" ? in : 0;  // elements of the second operand
  row.macs = 0;
  if (is_product(row)) {
    const int64_t window = product({row.depth.kernel, row.kernel[0], row.kernel[1]}, row.name);
    const int64_t matrix = product({row.output[0], row.input[0] / row.groups, window}, row.name);
    const bool learnt = row.op != "matmul";
    row.weights = learnt ? matrix : 0;
    if (!learnt) second = matrix;
    // Every weight meets every output pixel; of a transposed convolution every input pixel.
    row.macs =
        product({matrix, row.op == "conv_transpose" ? pixels_in(row) : pixels_out(row)}, row.name);
  }
  row.input_bytes = product({kFloatBytes, sum(in, second, row.name)}, row.name);
  row.output_bytes = product({kFloatBytes, out}, row.name);
}

int64_t total_macs(const Table& table) {
  int64_t total = 0;
  for (const Row& row : table.rows) total = sum(total, row.macs, row.name);
  return total;
}

Missing missing(const Table& table) {
  Missing out;
  for (const Uncounted& one : table.uncounted) {
    if (one.macs) {
      out.macs = sum(out.macs, *one.macs, one.name);
    } else {
      out.unknown = sum(out.unknown, one.times, one.name);
    }
  }
  const auto known = static_cast<double>(out.macs);
  if (out.macs > 0) out.share = known / (known + static_cast<double>(total_macs(table)));
  return out;
}

std::string missing_text(const Table& table) {
  constexpr size_t kMostNamed = 5;
  const Missing all = missing(table);
  if (all.macs == 0 && all.unknown == 0) return "";
  std::vector<std::string> names;
  size_t count = 0;
  for (const Uncounted& one : table.uncounted) {
    if (one.macs == 0) continue;
    if (++count > kMostNamed) continue;
    names.push_back(core::cat(one.name, " (",
                              one.macs ? core::grouped(*one.macs) + " MACs" : "MACs unknown", ")"));
  }
  if (count > kMostNamed) names.push_back(core::cat("and ", count - kMostNamed, " more"));
  const std::string share = all.share >= 0.0001
                                ? core::fixed(100 * all.share, all.share < 0.01 ? 2 : 1) + " %"
                            : all.macs > 0 ? "less than 0.01 %"
                                           : "an unknown share";
  return core::cat(all.macs > 0 && all.unknown > 0 ? "at least " : "", share,
                   " of the network's MACs are missing: ", core::join(names, ", "));
}

int64_t total_weights(const Table& table) {
  int64_t total = 0;
  for (const Row& row : table.rows) {
    if (is_product(row) && !is_repeated(row)) total = sum(total, row.weights, row.name);
  }
  return total;
}

std::string RowNames::weight_layer(const std::string& path) {
  const int use = ++uses_[path];
  last_ = use == 1 ? path : path + "#" + std::to_string(use);
  return last_;
}

std::string RowNames::weight_part(const std::string& path, const std::string& part) {
  auto& parts = parts_[path];
  const size_t number = parts.try_emplace(part, parts.size()).first->second;
  return weight_layer(path + "[" + std::to_string(number) + "]");
}

std::string RowNames::operation(const std::string& op) {
  const std::string name = last_ + "/" + op;
  const int use = ++uses_[name];
  return use == 1 ? name : name + std::to_string(use);
}

}  // namespace adagp::layers
