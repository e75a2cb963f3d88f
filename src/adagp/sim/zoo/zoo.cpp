#include "adagp/sim/zoo/zoo.h"

#include <set>

#include "adagp/base/core/files.h"
#include "adagp/base/core/lookup.h"
#include "adagp/sim/layers/table_gpt.h"
#include "adagp/sim/zoo/embedded.h"

namespace adagp::zoo {
namespace {

constexpr int64_t kCifar10Classes = 10, kCifar100Classes = 100;

// "resnet50-imagenet" -> "resnet50", "imagenet". Inputs have no '-'.
std::pair<std::string, std::string> split_name(std::string_view name) {
  const size_t dash = name.find_last_of('-');
  return {std::string(name.substr(0, dash)), std::string(name.substr(dash + 1))};
}

const File* find(std::span<const File> files, const std::string& name) {
  for (const File& file : files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

void to_hundred_classes(layers::Table& table) {
  for (layers::Row& row : table.rows) {
    if (row.op != "linear" || row.output[0] != kCifar10Classes) continue;
    row.output[0] = kCifar100Classes;
    if (row.bias > 0) row.bias = kCifar100Classes;
    layers::complete(row);
  }
  table.input = "cifar100";
}

}  // namespace

std::vector<std::string> models() {
  std::set<std::string> names;
  for (const File& file : layer_files()) names.insert(split_name(file.name).first);
  for (const layers::GptSizes& sizes : layers::gpt_sizes()) names.insert(sizes.name);
  return {names.begin(), names.end()};
}

std::vector<std::string> inputs(const std::string& model) {
  std::vector<std::string> out;
  for (const File& file : layer_files()) {
    const auto [name, input] = split_name(file.name);
    if (name != model) continue;
    out.push_back(input);
    if (input == "cifar") out.emplace_back("cifar100");
  }
  for (const layers::GptSizes& sizes : layers::gpt_sizes()) {
    if (sizes.name == model) out.push_back(layers::gpt_input(sizes));
  }
  return out;
}

layers::Table layer_table(const std::string& model, const std::string& input) {
  for (const layers::GptSizes& sizes : layers::gpt_sizes()) {
    if (sizes.name == model && layers::gpt_input(sizes) == input) return layers::gpt_table(sizes);
  }
  const bool hundred = input == "cifar100";
  const File* file = find(layer_files(), model + "-" + (hundred ? "cifar" : input));
  if (file == nullptr) {
    const auto known = inputs(model);
    if (known.empty()) {
      throw UsageError("no layer table for model '" + model + "'" +
                       core::suggestion(model, models()));
    }
    throw UsageError("model '" + model + "' has no layer table for input '" + input +
                     "', only for " + core::join(known, ", ") +
                     "; 'adagp layers --csv' writes others, and --table reads them");
  }
  layers::Table table = layers::from_csv(std::string(file->text), std::string(file->name) + ".csv");
  if (hundred) to_hundred_classes(table);
  return table;
}

std::vector<std::string> accelerators() {
  return core::names_of(accelerator_files());
}

accel::Accelerator accelerator(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml")) {
    return accel::parse_accelerator(core::read_file(name_or_path), name_or_path);
  }
  if (const File* file = find(accelerator_files(), name_or_path)) {
    return accel::parse_accelerator(file->text, name_or_path + ".toml");
  }
  throw UsageError("unknown accelerator '" + name_or_path + "'" +
                   core::suggestion(name_or_path, accelerators()) +
                   " (or the path of a TOML file)");
}

}  // namespace adagp::zoo
