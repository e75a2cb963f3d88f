// The layer table as CSV, both ways.

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>

#include "adagp/core/byte_order_mark.h"
#include "adagp/core/error.h"
#include "adagp/core/foreign_text.h"
#include "adagp/core/text.h"
#include "adagp/layers/table.h"

namespace adagp::layers {
namespace {

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
constexpr const char* kTextNames[] = {"model", "input", "name", "op"};
constexpr size_t kNameColumn = 2, kOpColumn = 3, kTextColumns = 4;
constexpr size_t kAllColumns = kTextColumns + std::size(kColumns);
constexpr size_t kShapeColumns = 13;  // in_c .. groups; what follows is derived or may be zero
const std::vector<std::string> kOps{"conv2d",     "linear",  "matmul",     "batch_norm",
                                    "layer_norm", "softmax", "activation", "add",
                                    "pool",       "concat",  "embedding"};

std::string csv_header() {
  std::string line = "model,input,name,op";
  for (const Column& column : kColumns) line += std::string(",") + column.name;
  return line;
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
  for (auto& field : fields) field = core::csv_text(field);
  return fields;
}

// "column 5 (in_c)" of the numeric column `index`.
std::string place(size_t index) {
  return core::cat("column ", kTextColumns + index + 1, " (", kColumns[index].name, ")");
}

// A window of `kernel` slides over `in` + 2 `padding` points; dilation, which the table does not
// have, can only make the output smaller.
void check_window(const Row& row, size_t axis, const Complain& complain) {
  const int64_t in = row.input[axis + 1], out = row.output[axis + 1];
  int64_t padded = 0;
  if (__builtin_mul_overflow(row.padding[axis], 2, &padded) ||
      __builtin_add_overflow(padded, in, &padded)) {
    throw complain("the padded input does not fit into 64 bits");
  }
  const char* name = axis == 0 ? "h" : "w";
  if (row.kernel[axis] > padded) {
    throw complain(core::cat("kernel_", name, " is ", row.kernel[axis],
                             ", more than the padded input's ", padded));
  }
  const int64_t most = (padded - row.kernel[axis]) / row.stride[axis] + 1;
  if (out > most) {
    throw complain(core::cat("out_", name, " is ", out, ", but input, kernel, stride and padding ",
                             "give at most ", most));
  }
}

void check_shape(Row& row, const Complain& complain) {
  for (size_t i = 0; i < std::size(kColumns); ++i) {
    const std::string name = kColumns[i].name;
    const int64_t value = kColumns[i].field(row);
    const int64_t least = i >= kShapeColumns || name.starts_with("padding") ? 0 : 1;
    if (value < least) {
      throw complain(core::cat(place(i), " is ", value, ", expected at least ", least));
    }
  }
  if (!is_product(row)) return;
  if (row.input[0] % row.groups != 0 || row.output[0] % row.groups != 0) {
    throw complain(core::cat("groups ", row.groups, " do not divide the channels ", row.input[0],
                             " and ", row.output[0]));
  }
  if (row.op == "conv2d") {
    for (const size_t axis : {0, 1}) check_window(row, axis, complain);
  } else if (row.input[1] != row.output[1] || row.input[2] != row.output[2] ||
             row.kernel != decltype(row.kernel){1, 1}) {
    throw complain(row.op + ": input and output must have the same positions, and the kernel 1x1");
  }
}

Row parse_row(const std::vector<std::string>& fields, const Complain& complain) {
  if (fields.size() != kAllColumns) {
    throw complain(core::cat(fields.size(), " columns, expected ", kAllColumns));
  }
  Row row;
  for (size_t i = 0; i < kTextColumns; ++i) {
    const size_t broken = core::broken_utf8(fields[i]);
    if (broken == std::string::npos) continue;
    throw complain(core::cat("column ", i + 1, " (", kTextNames[i], "): byte ", broken + 1,
                             " of it is not UTF-8; save the file as UTF-8"));
  }
  row.name = fields[kNameColumn];
  row.op = fields[kOpColumn];
  if (row.name.empty()) throw complain(core::cat("column ", kNameColumn + 1, " (name) is empty"));
  if (std::find(kOps.begin(), kOps.end(), row.op) == kOps.end()) {
    throw complain(core::cat("column ", kOpColumn + 1, " (op) is '", row.op, "'",
                             core::suggestion(row.op, kOps)));
  }
  for (size_t i = 0; i < std::size(kColumns); ++i) {
    long long value = 0;
    const std::string& text = fields[kTextColumns + i];
    if (!core::parse_integer(text, value)) {
      throw complain(place(i) + " is '" + text + "', expected a whole number below 2^63");
    }
    kColumns[i].field(row) = value;
  }
  check_shape(row, complain);
  Row derived = row;
  try {
    complete(derived);
  } catch (const DataError& error) {
    throw complain(error.what());
  }
  for (size_t i = 0; i < std::size(kColumns); ++i) {
    const int64_t got = kColumns[i].field(row), expected = kColumns[i].field(derived);
    if (got != expected) {
      throw complain(core::cat(place(i), " is ", got, ", but the shapes give ", expected));
    }
  }
  return row;
}

}  // namespace

std::string to_csv(const Table& table) {
  std::string out = csv_header() + "\n";
  for (Row row : table.rows) {
    out += core::csv_cell(table.model) + "," + core::csv_cell(table.input) + "," +
           core::csv_cell(row.name) + "," + core::csv_cell(row.op);
    for (const Column& column : kColumns) out += "," + std::to_string(column.field(row));
    out += "\n";
  }
  return out;
}

Table from_csv(const std::string& text, const std::string& file_name) {
  Table table;
  std::set<std::string> names;
  std::istringstream lines{std::string(core::without_byte_order_mark(text))};
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
    }
    if (fields[0] != table.model || fields[1] != table.input) {
      throw complain("model and input are '" + fields[0] + "', '" + fields[1] +
                     "', but the table began with '" + table.model + "', '" + table.input + "'");
    }
    if (!names.insert(fields[kNameColumn]).second) {
      throw complain(core::cat("column ", kNameColumn + 1, " (name) is '", fields[kNameColumn],
                               "', which an earlier line has too; names must be unique"));
    }
  }
  if (table.rows.empty()) {
    throw DataError("layer table: " + file_name +
                    ": no layers; write one with 'adagp layers --csv'");
  }
  try {
    total_macs(table);
    total_weights(table);
  } catch (const DataError& error) {
    throw DataError("layer table: " + file_name + ": in sum, up to " + error.what());
  }
  return table;
}

}  // namespace adagp::layers
