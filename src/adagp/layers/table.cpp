#include "adagp/layers/table.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <sstream>

#include <nlohmann/json.hpp>

#include "adagp/core/error.h"
#include "adagp/core/text.h"

namespace adagp::layers {
namespace {

constexpr int64_t kFloatBytes = 4;

// The numeric columns, in the order of the CSV; model, input, name and op come before them.
struct Column {
  const char* name;
  int64_t& (*field)(Row&);
};

#define ADAGP_COLUMN(name, member)                        \
  {                                                       \
    name, [](Row& row) -> int64_t& { return row.member; } \
  }
constexpr Column kColumns[] = {
    ADAGP_COLUMN("in_c", input[0]),           ADAGP_COLUMN("in_h", input[1]),
    ADAGP_COLUMN("in_w", input[2]),           ADAGP_COLUMN("out_c", output[0]),
    ADAGP_COLUMN("out_h", output[1]),         ADAGP_COLUMN("out_w", output[2]),
    ADAGP_COLUMN("kernel_h", kernel[0]),      ADAGP_COLUMN("kernel_w", kernel[1]),
    ADAGP_COLUMN("stride_h", stride[0]),      ADAGP_COLUMN("stride_w", stride[1]),
    ADAGP_COLUMN("padding_h", padding[0]),    ADAGP_COLUMN("padding_w", padding[1]),
    ADAGP_COLUMN("groups", groups),           ADAGP_COLUMN("macs", macs),
    ADAGP_COLUMN("weights", weights),         ADAGP_COLUMN("bias", bias),
    ADAGP_COLUMN("input_bytes", input_bytes), ADAGP_COLUMN("output_bytes", output_bytes),
};
#undef ADAGP_COLUMN
constexpr size_t kTextColumns = 4;
constexpr size_t kAllColumns = kTextColumns + std::size(kColumns);

std::string csv_header() {
  std::string line = "model,input,name,op";
  for (const Column& column : kColumns) line += std::string(",") + column.name;
  return line;
}

std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

using Complain = std::function<DataError(const std::string&)>;

std::vector<std::string> csv_fields(const std::string& line, const Complain& complain) {
  std::vector<std::string> fields(1);
  bool inside = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (inside && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      inside = !inside;
    } else if (c == ',' && !inside) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (inside) throw complain("a quote is not closed");
  return fields;
}

// Shapes a network can have. The limit keeps the products of complete() far from overflow.
void check_shape(Row& row, const Complain& complain) {
  if (row.op != "conv2d" && row.op != "linear") {
    throw complain("op '" + row.op + "', expected conv2d or linear");
  }
  double product = 1;
  for (const Column& column : kColumns) {
    const std::string name = column.name;
    const int64_t value = column.field(row);
    const bool may_be_zero = name.starts_with("padding") || name == "bias";
    if (value < (may_be_zero ? 0 : 1)) {
      throw complain(name + " is " + std::to_string(value) + ", expected at least " +
                     (may_be_zero ? "0" : "1"));
    }
    if (name == "macs") break;  // what follows is derived
    product *= static_cast<double>(std::max<int64_t>(value, 1));
  }
  if (product > 1e18) throw complain("the shape is too large to be true");
  if (row.input[0] % row.groups != 0 || row.output[0] % row.groups != 0) {
    throw complain("groups " + std::to_string(row.groups) + " do not divide the channels");
  }
}

Row parse_row(const std::vector<std::string>& fields, const Complain& complain) {
  if (fields.size() != kAllColumns) {
    throw complain(std::to_string(fields.size()) + " fields, expected " +
                   std::to_string(kAllColumns));
  }
  Row row;
  row.name = fields[2];
  row.op = fields[3];
  for (size_t i = 0; i < std::size(kColumns); ++i) {
    long long value = 0;
    const std::string& text = fields[kTextColumns + i];
    if (!core::parse_integer(text, value)) {
      throw complain(std::string(kColumns[i].name) + " is '" + text + "', expected a whole number");
    }
    kColumns[i].field(row) = value;
  }
  check_shape(row, complain);
  Row derived = row;
  complete(derived);
  for (const Column& column : kColumns) {
    const int64_t got = column.field(row), expected = column.field(derived);
    if (got != expected) {
      throw complain(std::string(column.name) + " is " + std::to_string(got) +
                     ", but the shapes give " + std::to_string(expected));
    }
  }
  return row;
}

}  // namespace

void complete(Row& row) {
  row.weights = row.output[0] * (row.input[0] / row.groups) * row.kernel[0] * row.kernel[1];
  row.macs = row.weights * row.output[1] * row.output[2];
  row.input_bytes = kFloatBytes * row.input[0] * row.input[1] * row.input[2];
  row.output_bytes = kFloatBytes * row.output[0] * row.output[1] * row.output[2];
}

int64_t total_macs(const Table& table) {
  int64_t total = 0;
  for (const Row& row : table.rows) total += row.macs;
  return total;
}

int64_t total_weights(const Table& table) {
  int64_t total = 0;
  for (const Row& row : table.rows) total += row.weights;
  return total;
}

std::string to_csv(const Table& table) {
  std::string out = csv_header() + "\n";
  for (Row row : table.rows) {
    out += csv_field(table.model) + "," + csv_field(table.input) + "," + csv_field(row.name) + "," +
           csv_field(row.op);
    for (const Column& column : kColumns) out += "," + std::to_string(column.field(row));
    out += "\n";
  }
  return out;
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

Table from_csv(const std::string& text, const std::string& file_name) {
  Table table;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const Complain complain = [&](const std::string& what) {
      return DataError(core::cat("layer table: ", file_name, ":", number, ": ", what));
    };
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1) {
      if (line == csv_header()) continue;
      throw complain("the first line must be '" + csv_header() + "'");
    }
    if (line.empty()) continue;
    const auto fields = csv_fields(line, complain);
    table.rows.push_back(parse_row(fields, complain));
    if (table.rows.size() == 1) {
      table.model = fields[0];
      table.input = fields[1];
    } else if (fields[0] != table.model || fields[1] != table.input) {
      throw complain("model and input are '" + fields[0] + "', '" + fields[1] +
                     "', but the table began with '" + table.model + "', '" + table.input + "'");
    }
  }
  if (table.rows.empty()) {
    throw DataError("layer table: " + file_name +
                    ": no layers; write one with 'adagp layers --csv'");
  }
  return table;
}

}  // namespace adagp::layers
