#pragma once
// Results of a study as columns, for programs that compute with them.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "adagp/papers/study/output.h"

namespace adagp::study {

// Few different texts over many rows.
struct Texts {
  std::vector<std::string> values;  // each once, in the order in which they come
  std::vector<int32_t> codes;       // a place in `values` for each row
};

struct Column {
  std::string name;
  std::variant<Texts, std::vector<int64_t>, std::vector<double>> data;
};

// The columns of write_csv in its order; after "dataflow" also the sides of the array as numbers
// and all PEs of the design.
std::vector<Column> columns(const Study& study, const std::vector<Row>& rows);

}  // namespace adagp::study
