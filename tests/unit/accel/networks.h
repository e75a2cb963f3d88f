#pragma once
// Small helpers of the simulator's tests: rows, and two published networks written out by hand.

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "adagp/base/core/text.h"
#include "adagp/sim/layers/table.h"

namespace adagp::test {

inline layers::Row conv(const std::string& name, int64_t in, int64_t side, int64_t out,
                        int64_t kernel, int64_t stride, int64_t padding, int64_t groups = 1) {
  layers::Row row;
  row.name = name;
  row.op = "conv2d";
  const int64_t size = (side + 2 * padding - kernel) / stride + 1;
  row.input = {in, side, side};
  row.output = {out, size, size};
  row.kernel = {kernel, kernel};
  row.stride = {stride, stride};
  row.padding = {padding, padding};
  row.groups = groups;
  layers::complete(row);
  return row;
}

inline layers::Row linear(const std::string& name, int64_t in, int64_t out, int64_t positions = 1) {
  layers::Row row;
  row.name = name;
  row.op = "linear";
  row.input = {in, 1, positions};
  row.output = {out, 1, positions};
  layers::complete(row);
  return row;
}

inline layers::Row vector_row(const std::string& name, const std::string& op, int64_t channels,
                              int64_t side) {
  layers::Row row;
  row.name = name;
  row.op = op;
  row.input = row.output = {channels, side, side};
  layers::complete(row);
  return row;
}

// torchvision's resnet50 at 224x224: 53 convolutions and a classifier.
inline layers::Table resnet50() {
  layers::Table table{"resnet50", "imagenet", {conv("conv1", 3, 224, 64, 7, 2, 3)}};
  int64_t in = 64, side = 56;
  const int64_t widths[] = {64, 128, 256, 512}, blocks[] = {3, 4, 6, 3};
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t width = widths[stage];
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const std::string name = core::cat("layer", stage + 1, ".", block, ".");
      table.rows.push_back(conv(name + "conv1", in, side, width, 1, 1, 0));
      table.rows.push_back(conv(name + "conv2", width, side, width, 3, stride, 1));
      table.rows.push_back(conv(name + "conv3", width, side / stride, 4 * width, 1, 1, 0));
      if (block == 0) {
        table.rows.push_back(conv(name + "downsample.0", in, side, 4 * width, 1, stride, 0));
      }
      side /= stride;
      in = 4 * width;
    }
  }
  table.rows.push_back(linear("fc", 2048, 1000));
  return table;
}

// VGG13 for 32x32 images: ten convolutions and one classifier.
inline layers::Table vgg13_cifar() {
  layers::Table table{"vgg13", "cifar", {}};
  int64_t in = 3, side = 32;
  for (const int64_t width : {64, 128, 256, 512, 512}) {
    for (int i = 0; i < 2; ++i) {
      table.rows.push_back(
          conv(core::cat("conv", table.rows.size() + 1), in, side, width, 3, 1, 1));
      in = width;
    }
    side /= 2;
  }
  table.rows.push_back(linear("fc", 512, 10));
  return table;
}

// The rows of a file of tests/golden as column -> text; '#' lines are comments.
inline std::vector<std::map<std::string, std::string>> golden(const std::string& name) {
  std::ifstream file(std::string(ADAGP_SOURCE_DIR) + "/tests/golden/" + name);
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> header;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto fields = core::split(line, ',');
    if (header.empty()) {
      header = fields;
      continue;
    }
    rows.emplace_back();
    for (size_t i = 0; i < fields.size() && i < header.size(); ++i)
      rows.back()[header[i]] = fields[i];
  }
  return rows;
}

inline int64_t whole(const std::map<std::string, std::string>& row, const std::string& column) {
  return std::stoll(row.at(column));
}
inline double real(const std::map<std::string, std::string>& row, const std::string& column) {
  return std::stod(row.at(column));
}

}  // namespace adagp::test
