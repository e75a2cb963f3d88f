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

struct Layout {
  std::vector<const Column*> columns;
  bool uncounted = false;

  size_t size() const { return kTextColumns + columns.size() + (uncounted ? 2 : 0); }
};

Layout layout_for(const Table& table);
std::string csv_header(const Layout& layout);
// False when the line is the header of no layout.
bool read_header(const std::string& line, Layout& layout);

}  // namespace adagp::layers
