#pragma once
// Which columns a layer table has as CSV.

#include <string>
#include <vector>

#include "adagp/sim/layers/table.h"

namespace adagp::layers {

// A numeric column; model, input, name and op come before them. Those of dilation, depth and frozen
// rows are there only where a row needs them, and so are the two last columns of uncounted
// operations: times and operator.
struct Column {
  enum class Group { kAlways, kDilation, kDepth, kFrozen };

  const char* name;
  Group group;
  int64_t least;  // value it may have
  int64_t most;
  int64_t& (*field)(Row&);
};

constexpr size_t kTextColumns = 4;

struct Header {
  std::vector<const Column*> columns;
  bool uncounted = false;

  size_t size() const { return kTextColumns + columns.size() + (uncounted ? 2 : 0); }
};

Header header_for(const Table& table);
std::string csv_header(const Header& header);
// False when the line is the header of no table.
bool read_header(const std::string& line, Header& header);

}  // namespace adagp::layers
