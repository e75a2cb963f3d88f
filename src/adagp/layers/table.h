#pragma once
// The layer table: one row per weight-carrying operation of a network, for one input.
// Torch-free: the accelerator simulator reads it from CSV.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace adagp::layers {

struct Row {
  std::string name;                // "layer1.0.conv2"
  std::string op;                  // "conv2d" | "linear"
  std::array<int64_t, 3> input{};  // C, H, W of one example (linear: features, 1, positions)
  std::array<int64_t, 3> output{};
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> padding{0, 0};
  int64_t groups = 1;
  int64_t macs = 0;     // of one example
  int64_t weights = 0;  // without bias
  int64_t bias = 0;
  int64_t input_bytes = 0;  // of one example in fp32
  int64_t output_bytes = 0;
};

struct Table {
  std::string model;
  std::string input;  // "imagenet", "cifar", "64x64"
  std::vector<Row> rows;
};

// Fills macs, weights, input_bytes and output_bytes from the shapes.
void complete(Row& row);

int64_t total_macs(const Table& table);
int64_t total_weights(const Table& table);

std::string to_csv(const Table& table);
std::string to_json(const Table& table);
// Reads what to_csv wrote, and checks that sizes and shapes agree. Throws DataError with file name
// and line.
Table from_csv(const std::string& text, const std::string& file_name);

}  // namespace adagp::layers
