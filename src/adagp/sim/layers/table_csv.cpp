// The layer table as CSV, both ways.

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include "adagp/base/core/error.h"
#include "adagp/base/core/foreign_text.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/layers/table.h"
#include "adagp/sim/layers/table_check.h"
#include "adagp/sim/layers/table_columns.h"

namespace adagp::layers {
namespace {

constexpr const char* kTextNames[] = {"model", "input", "name", "op"};
constexpr size_t kNameColumn = 2, kOpColumn = 3;
constexpr const char* kUncounted = "uncounted";
const std::vector<std::string> kOps{"conv2d",     "conv3d",     "conv_transpose", "linear",
                                    "matmul",     "batch_norm", "layer_norm",     "softmax",
                                    "activation", "add",        "pool",           "concat",
                                    "embedding",  kUncounted};

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
std::string place(const Header& header, size_t index) {
  return core::cat("column ", kTextColumns + index + 1, " (", header.columns[index]->name, ")");
}

int64_t whole_number(const std::string& text, const std::string& where, int64_t least,
                     const Complain& complain) {
  long long value = 0;
  if (!core::parse_integer(text, value)) {
    throw complain(where + " is '" + text + "', expected a whole number below 2^63");
  }
  if (value < least) throw complain(core::cat(where, " is ", value, ", expected at least ", least));
  return value;
}

void check_texts(const std::vector<std::string>& fields, const Header& header,
                 const Complain& complain) {
  if (fields.size() != header.size()) {
    throw complain(core::cat(fields.size(), " columns, expected ", header.size()));
  }
  for (size_t i = 0; i < kTextColumns; ++i) {
    const size_t broken = core::broken_utf8(fields[i]);
    if (broken == std::string::npos) continue;
    throw complain(core::cat("column ", i + 1, " (", kTextNames[i], "): byte ", broken + 1,
                             " of it is not UTF-8; save the file as UTF-8"));
  }
  if (fields[kNameColumn].empty()) {
    throw complain(core::cat("column ", kNameColumn + 1, " (name) is empty"));
  }
  const std::string& op = fields[kOpColumn];
  if (std::find(kOps.begin(), kOps.end(), op) == kOps.end()) {
    throw complain(
        core::cat("column ", kOpColumn + 1, " (op) is '", op, "'", core::suggestion(op, kOps)));
  }
}

Row parse_row(const std::vector<std::string>& fields, const Header& header,
              const Complain& complain) {
  Row row;
  row.name = fields[kNameColumn];
  row.op = fields[kOpColumn];
  for (size_t i = 0; i < header.columns.size(); ++i) {
    header.columns[i]->field(row) = whole_number(fields[kTextColumns + i], place(header, i),
                                                 header.columns[i]->least, complain);
    if (header.columns[i]->field(row) > header.columns[i]->most) {
      throw complain(core::cat(place(header, i), " is ", header.columns[i]->field(row),
                               ", expected at most ", header.columns[i]->most));
    }
  }
  Row derived = row;
  std::string error;
  try {
    error = shape_error(row);
    if (error.empty()) complete(derived);
  } catch (const DataError& beyond) {
    error = beyond.what();
  }
  if (!error.empty()) throw complain(error);
  for (size_t i = 0; i < header.columns.size(); ++i) {
    const int64_t got = header.columns[i]->field(row);
    const int64_t expected = header.columns[i]->field(derived);
    if (got != expected) {
      throw complain(core::cat(place(header, i), " is ", got, ", but the shapes give ", expected));
    }
  }
  return row;
}

// Of an operation without a row, the columns between op and times are empty, but for its MACs where
// they are known.
Uncounted parse_uncounted(const std::vector<std::string>& fields, const Header& header,
                          const Complain& complain) {
  if (!header.uncounted) {
    throw complain("an uncounted operation needs the columns times and operator at the end");
  }
  Uncounted out;
  out.name = fields[kNameColumn];
  for (size_t i = 0; i < header.columns.size(); ++i) {
    const std::string& text = fields[kTextColumns + i];
    if (text.empty()) continue;
    if (header.columns[i]->name != std::string("macs")) {
      throw complain(place(header, i) + " is '" + text +
                     "', but an uncounted operation has no sizes");
    }
    out.macs = whole_number(text, place(header, i), 0, complain);
  }
  const size_t times = kTextColumns + header.columns.size();
  out.times = whole_number(fields[times], core::cat("column ", times + 1, " (times)"), 1, complain);
  out.op = fields[times + 1];
  if (core::broken_utf8(out.op) != std::string::npos) {
    throw complain(core::cat("column ", times + 2, " (operator) is not UTF-8"));
  }
  return out;
}

}  // namespace

std::string to_csv(const Table& table) {
  const Header header = header_for(table);
  std::string out = csv_header(header) + "\n";
  const auto start = [&](const std::string& name, const std::string& op) {
    out += core::csv_cell(table.model) + "," + core::csv_cell(table.input) + "," +
           core::csv_cell(name) + "," + core::csv_cell(op);
  };
  for (Row row : table.rows) {
    start(row.name, row.op);
    for (const Column* column : header.columns) out += "," + std::to_string(column->field(row));
    out += header.uncounted ? ",1,\n" : "\n";
  }
  for (const Uncounted& one : table.uncounted) {
    start(one.name, kUncounted);
    for (const Column* column : header.columns) {
      const bool macs = one.macs && column->name == std::string("macs");
      out += macs ? "," + std::to_string(*one.macs) : ",";
    }
    out += core::cat(",", one.times, ",", core::csv_cell(one.op), "\n");
  }
  return out;
}

Table from_csv(const std::string& text, const std::string& file_name) {
  Table table;
  Header header;
  std::set<std::string> names;
  std::istringstream lines{std::string(core::without_byte_order_mark(text))};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const Complain complain = [&](const std::string& what) {
      return DataError(core::cat("layer table: ", file_name, ":", number, ": ", what));
    };
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1) {
      if (read_header(line, header)) continue;
      throw complain("the first line must be '" + csv_header(header_for({})) +
                     "', and may go on with the columns that docs/layers.md names");
    }
    if (line.empty()) continue;
    const auto fields = csv_fields(line, complain);
    check_texts(fields, header, complain);
    if (table.rows.empty() && table.uncounted.empty()) {
      table.model = fields[0];
      table.input = fields[1];
    }
    const bool counted = fields[kOpColumn] != kUncounted;
    if (counted) {
      table.rows.push_back(parse_row(fields, header, complain));
    } else {
      table.uncounted.push_back(parse_uncounted(fields, header, complain));
    }
    if (fields[0] != table.model || fields[1] != table.input) {
      throw complain("model and input are '" + fields[0] + "', '" + fields[1] +
                     "', but the table began with '" + table.model + "', '" + table.input + "'");
    }
    if (counted && !names.insert(fields[kNameColumn]).second) {
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
    missing(table);
  } catch (const DataError& error) {
    throw DataError("layer table: " + file_name + ": in sum, up to " + error.what());
  }
  return table;
}

}  // namespace adagp::layers
