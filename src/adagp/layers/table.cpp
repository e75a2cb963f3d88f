#include "adagp/layers/table.h"

#include <initializer_list>

#include <nlohmann/json.hpp>

#include "adagp/core/error.h"

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

bool is_product(const Row& row) {
  return row.op == "conv2d" || row.op == "linear" || row.op == "matmul";
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
  const auto& [in_c, in_h, in_w] = row.input;
  const auto& [out_c, out_h, out_w] = row.output;
  const int64_t in = product({in_c, in_h, in_w}, row.name);
  const int64_t out = product({out_c, out_h, out_w}, row.name);
  int64_t second = row.op == "add" ? in : 0;  // elements of the second operand
  row.macs = 0;
  if (is_product(row)) {
    const int64_t depth =
        product({in_c / row.groups, row.kernel[0], row.kernel[1]}, row.name);  // of one dot product
    const int64_t matrix = product({out_c, depth}, row.name);
    const bool learnt = row.op != "matmul";
    row.weights = learnt ? matrix : 0;
    if (!learnt) second = matrix;
    row.macs = product({matrix, out_h, out_w}, row.name);
  }
  row.input_bytes = product({kFloatBytes, sum(in, second, row.name)}, row.name);
  row.output_bytes = product({kFloatBytes, out}, row.name);
}

int64_t total_macs(const Table& table) {
  int64_t total = 0;
  for (const Row& row : table.rows) total = sum(total, row.macs, row.name);
  return total;
}

int64_t total_weights(const Table& table) {
  int64_t total = 0;
  for (const Row& row : table.rows) {
    if (is_product(row) && !is_repeated(row)) total = sum(total, row.weights, row.name);
  }
  return total;
}

std::string to_json(const Table& table) {
  nlohmann::ordered_json out = {{"model", table.model},
                                {"input", table.input},
                                {"macs", total_macs(table)},
                                {"weights", total_weights(table)},
                                {"layers", nlohmann::ordered_json::array()}};
  for (const Row& row : table.rows) {
    out["layers"].push_back({{"name", row.name},
                             {"op", row.op},
                             {"input", row.input},
                             {"output", row.output},
                             {"kernel", row.kernel},
                             {"stride", row.stride},
                             {"padding", row.padding},
                             {"groups", row.groups},
                             {"macs", row.macs},
                             {"weights", row.weights},
                             {"bias", row.bias},
                             {"input_bytes", row.input_bytes},
                             {"output_bytes", row.output_bytes}});
  }
  return out.dump(2) + "\n";
}

}  // namespace adagp::layers
