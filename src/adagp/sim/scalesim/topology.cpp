#include "adagp/sim/scalesim/topology.h"

#include <set>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"
#include "adagp/sim/scalesim/text_lines.h"

namespace adagp::scalesim {
namespace {

// Words of one operand that still leave room for every product the simulator forms.
constexpr int64_t kLargestMacs = int64_t{1} << 60;
constexpr int64_t kLargestSize = int64_t{1} << 48;  // sums of a few sizes are in range
constexpr int64_t kMostLayers = 1 << 18;

struct Columns {
  std::vector<std::string> names;  // after the layer's name
  const char* line;                // how a line looks
};

const Columns kConvColumns = {
    {"IFMAP height", "IFMAP width", "filter height", "filter width", "channels", "filters",
     "stride"},
    "name, IFMAP height, IFMAP width, filter height, filter width, channels, filters, stride"};
const Columns kGemmColumns = {{"M", "N", "K"}, "name, M, N, K"};

std::vector<int64_t> sizes_of(const std::vector<Field>& fields, const Columns& columns,
                              const Place& line) {
  const size_t expected = columns.names.size() + 1;
  const bool ratio =
      fields.size() == expected + 1 && fields.back().text.find(':') != std::string::npos;
  if (fields.size() != expected && !ratio) {
    throw DataError(core::cat(line.str(), ": ", fields.size(), " columns, expected ", expected,
                              " (", columns.line, ")"));
  }
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < columns.names.size(); ++i) {
    const Field& field = fields[i + 1];
    const Place place{line.file, line.line, field.column};
    sizes.push_back(whole_number(field.text, columns.names[i], 1, place));
    if (sizes.back() > kLargestSize) {
      throw DataError(core::cat(place.str(), ": ", columns.names[i], " is ", sizes.back(),
                                ", expected at most ", kLargestSize));
    }
  }
  return sizes;
}

void check_fits(int64_t filter, int64_t ifmap, const char* axis, const Place& place) {
  if (filter > ifmap) {
    throw DataError(core::cat(place.str(), ": filter ", axis, " is ", filter,
                              ", larger than the IFMAP's ", ifmap,
                              " (padding is part of the IFMAP's size)"));
  }
}

void check_range(const Layer& layer, const Place& line) {
  int64_t product = 1;
  for (const int64_t size : {layer.ofmap_h(), layer.ofmap_w(), layer.filter_h, layer.filter_w,
                             layer.channels, layer.filters}) {
    if (__builtin_mul_overflow(product, size, &product) || product > kLargestMacs) {
      throw DataError(core::cat(line.str(), ": layer '", layer.name,
                                "' needs more than 2^60 multiplications, which is out of range"));
    }
  }
  int64_t ifmap = layer.channels;
  if (__builtin_mul_overflow(ifmap, layer.ifmap_h, &ifmap) ||
      __builtin_mul_overflow(ifmap, layer.ifmap_w, &ifmap) || ifmap > kLargestMacs) {
    throw DataError(core::cat(line.str(), ": layer '", layer.name,
                              "' has an IFMAP of more than 2^60 words, which is out of range"));
  }
}

Layer convolution(const std::vector<Field>& fields, const Place& line) {
  const auto sizes = sizes_of(fields, kConvColumns, line);
  const Layer layer{fields[0].text, sizes[0], sizes[1], sizes[2],
                    sizes[3],       sizes[4], sizes[5], sizes[6]};
  check_fits(layer.filter_h, layer.ifmap_h, "height", {line.file, line.line, fields[3].column});
  check_fits(layer.filter_w, layer.ifmap_w, "width", {line.file, line.line, fields[4].column});
  return layer;
}

Layer product(const std::vector<Field>& fields, const Place& line) {
  const auto sizes = sizes_of(fields, kGemmColumns, line);
  const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
  return {fields[0].text, m, k, 1, k, 1, n, 1};
}

std::string stem(const std::string& path) {
  const std::string file = path.substr(path.find_last_of('/') + 1);
  return file.substr(0, file.find_last_of('.'));
}

class Builder {
 public:
  void add(Layer layer, bool depthwise, const Place& line) {
    check_range(layer, line);
    const int64_t more = depthwise ? layer.channels : 1;
    if (static_cast<int64_t>(topology.layers.size()) + more > kMostLayers) {
      throw DataError(core::cat(line.str(), ": more than ", kMostLayers, " layers"));
    }
    if (!depthwise) return add_one(std::move(layer), line);
    layer.channels = 1;
    for (int64_t c = 0; c < more; ++c) {
      Layer one = layer;
      one.name += "Channel_" + std::to_string(c);  // SCALE-Sim's name for it
      add_one(std::move(one), line);
    }
  }

  Topology topology;

 private:
  void add_one(Layer layer, const Place& line) {
    if (!names_.insert(layer.name).second) {
      throw DataError(line.str() + ": a second layer named '" + layer.name +
                      "'; names must differ");
    }
    topology.layers.push_back(std::move(layer));
  }

  std::set<std::string> names_;
};

}  // namespace

TopologyKind parse_kind(const std::string& text) {
  if (text == "conv") return TopologyKind::kConv;
  if (text == "gemm") return TopologyKind::kGemm;
  throw UsageError("topology: unknown kind '" + text + "', expected conv or gemm");
}

Topology parse_topology(const std::string& text, const std::string& file_name, TopologyKind kind) {
  Builder builder;
  builder.topology.name = stem(file_name);
  for (const Line& line : lines_of(text)) {
    if (core::trim(line.text).empty()) continue;
    const Place place{file_name, line.number, 0};
    const auto fields = fields_of(line);
    if (line.number == 1) {
      long long number = 0;
      if (fields.size() < 2 || !core::parse_integer(fields[1].text, number)) continue;
      throw DataError(place.str() + ": a layer where the line of titles belongs: add that line");
    }
    if (fields[0].text.empty()) {
      throw DataError(place.str() + ":1: the layer has no name");
    }
    const size_t broken = core::broken_utf8(fields[0].text);
    if (broken != std::string::npos) {
      const Place byte{file_name, line.number, fields[0].column + static_cast<int>(broken)};
      throw DataError(byte.str() + ": the layer's name is not UTF-8; save the file as UTF-8");
    }
    const bool conv = kind == TopologyKind::kConv;
    const bool depthwise = conv && fields[0].text.find("DP") != std::string::npos;
    builder.add(conv ? convolution(fields, place) : product(fields, place), depthwise, place);
  }
  if (builder.topology.layers.empty()) {
    const Columns& columns = kind == TopologyKind::kConv ? kConvColumns : kGemmColumns;
    throw DataError(file_name + ": no layers; expected a line of titles and then lines of " +
                    columns.line);
  }
  return builder.topology;
}

layers::Table to_table(const Topology& topology) {
  layers::Table table;
  table.model = topology.name;
  table.input = "topology";
  for (const Layer& layer : topology.layers) {
    layers::Row row;
    row.name = layer.name;
    const bool rows_of_a_product = layer.channels == 1 && layer.filter_h == 1 &&
                                   layer.filter_w == layer.ifmap_w && layer.stride == 1;
    if (rows_of_a_product) {  // how a GEMM is written as a convolution: its gradients are products
      row.op = "linear";
      row.input = {layer.ifmap_w, 1, layer.ifmap_h};
      row.output = {layer.filters, 1, layer.ifmap_h};
    } else {
      row.op = "conv2d";
      row.input = {layer.channels, layer.ifmap_h, layer.ifmap_w};
      row.output = {layer.filters, layer.ofmap_h(), layer.ofmap_w()};
      row.kernel = {layer.filter_h, layer.filter_w};
      row.stride = {layer.stride, layer.stride};
    }
    layers::complete(row);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace adagp::scalesim
