#include "adagp/layers/table_columns.h"

namespace adagp::layers {
namespace {

#define ADAGP_COLUMN(name, group, least, member)                                       \
  {                                                                                    \
    name, Column::Group::group, least, [](Row& row) -> int64_t& { return row.member; } \
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
};
#undef ADAGP_COLUMN
Layout layout(bool dilation, bool depth, bool uncounted) {
  Layout out;
  for (const Column& column : kColumns) {
    const bool has = column.group == Column::Group::kAlways ||
                     (column.group == Column::Group::kDilation ? dilation : depth);
    if (has) out.columns.push_back(&column);
  }
  out.uncounted = uncounted;
  return out;
}

}  // namespace

Layout layout_for(const Table& table) {
  bool dilation = false, depth = false;
  for (const Row& row : table.rows) {
    dilation = dilation || row.dilation != decltype(row.dilation){1, 1};
    depth = depth || row.depth != Depth{};
  }
  return layout(dilation, depth, !table.uncounted.empty());
}

std::string csv_header(const Layout& layout) {
  std::string line = "model,input,name,op";
  for (const Column* column : layout.columns) line += std::string(",") + column->name;
  return layout.uncounted ? line + ",times,operator" : line;
}

bool read_header(const std::string& line, Layout& out) {
  for (int choice = 0; choice < 8; ++choice) {
    out = layout((choice & 1) != 0, (choice & 2) != 0, (choice & 4) != 0);
    if (line == csv_header(out)) return true;
  }
  return false;
}

}  // namespace adagp::layers
