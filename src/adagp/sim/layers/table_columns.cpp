#include "adagp/sim/layers/table_columns.h"

#include <limits>
#include <set>

namespace adagp::layers {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

#define ADAGP_COLUMN(name, group, least, member)                       \
  {                                                                    \
    name, Column::Group::group, least,                                 \
        Column::Group::group == Column::Group::kFrozen ? 1 : kNoLimit, \
        [](Row& row) -> int64_t& { return row.member; }                \
  }
constexpr Column kColumns[] = {
    ADAGP_COLUMN("in_c", kAlways, 1, input[0]),
    ADAGP_COLUMN("in_h", kAlways, 1, input[1]),
    ADAGP_COLUMN("in_w", kAlways, 1, input[2]),
    ADAGP_COLUMN("out_c", kAlways, 1, output[0]),
    ADAGP_COLUMN("out_h", kAlways, 1, output[1]),
    ADAGP_COLUMN("out_w", kAlways, 1, output[2]),
    ADAGP_COLUMN("kernel_h", kAlways, 1, kernel[0]),
    ADAGP_COLUMN("kernel_w", kAlways, 1, kernel[1]),
    ADAGP_COLUMN("stride_h", kAlways, 1, stride[0]),
    ADAGP_COLUMN("stride_w", kAlways, 1, stride[1]),
    ADAGP_COLUMN("padding_h", kAlways, 0, padding[0]),
    ADAGP_COLUMN("padding_w", kAlways, 0, padding[1]),
    ADAGP_COLUMN("groups", kAlways, 1, groups),
    ADAGP_COLUMN("macs", kAlways, 0, macs),
    ADAGP_COLUMN("weights", kAlways, 0, weights),
    ADAGP_COLUMN("bias", kAlways, 0, bias),
    ADAGP_COLUMN("input_bytes", kAlways, 0, input_bytes),
    ADAGP_COLUMN("output_bytes", kAlways, 0, output_bytes),
    ADAGP_COLUMN("dilation_h", kDilation, 1, dilation[0]),
    ADAGP_COLUMN("dilation_w", kDilation, 1, dilation[1]),
    ADAGP_COLUMN("in_d", kDepth, 1, depth.input),
    ADAGP_COLUMN("out_d", kDepth, 1, depth.output),
    ADAGP_COLUMN("kernel_d", kDepth, 1, depth.kernel),
    ADAGP_COLUMN("stride_d", kDepth, 1, depth.stride),
    ADAGP_COLUMN("padding_d", kDepth, 0, depth.padding),
    ADAGP_COLUMN("dilation_d", kDepth, 1, depth.dilation),
    ADAGP_COLUMN("frozen", kFrozen, 0, frozen),
};
#undef ADAGP_COLUMN
using Groups = std::set<Column::Group>;

Header header(const Groups& groups, bool uncounted) {
  Header out;
  for (const Column& column : kColumns) {
    if (column.group == Column::Group::kAlways || groups.contains(column.group)) {
      out.columns.push_back(&column);
    }
  }
  out.uncounted = uncounted;
  return out;
}

}  // namespace

Header header_for(const Table& table) {
  Groups groups;
  for (const Row& row : table.rows) {
    if (row.dilation != decltype(row.dilation){1, 1}) groups.insert(Column::Group::kDilation);
    if (row.depth != Depth{}) groups.insert(Column::Group::kDepth);
    if (row.frozen != 0) groups.insert(Column::Group::kFrozen);
  }
  return header(groups, !table.uncounted.empty());
}

std::string csv_header(const Header& header) {
  std::string line = "model,input,name,op";
  for (const Column* column : header.columns) line += std::string(",") + column->name;
  return header.uncounted ? line + ",times,operator" : line;
}

bool read_header(const std::string& line, Header& out) {
  constexpr Column::Group kOptional[] = {Column::Group::kDilation, Column::Group::kDepth,
                                         Column::Group::kFrozen};
  for (int choice = 0; choice < 16; ++choice) {
    Groups groups;
    for (int i = 0; i < 3; ++i) {
      if ((choice >> i & 1) != 0) groups.insert(kOptional[i]);
    }
    out = header(groups, (choice & 8) != 0);
    if (line == csv_header(out)) return true;
  }
  return false;
}

}  // namespace adagp::layers
