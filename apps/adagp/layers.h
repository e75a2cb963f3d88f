#pragma once
// What the files of `adagp layers` share. No torch here.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adagp/sim/layers/table.h"

namespace adagp::apps {

struct LayersArgs {
  std::string model, pt2, onnx, table, input, form, words, zoo, output, head = "predicted";
  std::optional<int64_t> classes;
  int64_t batch = 0;
  std::vector<std::string> to;  // format, folder
  std::string accelerator = "adagp-180";
  int64_t examples = 1;
  bool all = false, csv = false, json = false, coverage = false;
};

// A table and what it does not say itself.
struct FoundTable {
  layers::Table table;
  std::optional<int64_t> parameters;
  std::optional<int64_t> exported_batch;  // of an exported network
  std::string batch_note;                 // about that batch
};

// Of --model: built from shapes, or in a program without LibTorch an embedded one.
FoundTable model_table(const LayersArgs& args);
std::string model_coverage(const LayersArgs& args);
// Writes the tables of all networks into the folder args.zoo.
std::string write_zoo(const LayersArgs& args);

}  // namespace adagp::apps
